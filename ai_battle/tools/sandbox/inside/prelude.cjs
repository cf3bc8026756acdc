// How a JavaScript program starts behind the fence: what it requires or imports is looked for in the workspace first.
const Module = require("module");
const path = require("path");
const { pathToFileURL } = require("url");
const program = process.argv[1];
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  if (parent && parent.filename === program) {
    parent.paths = Module._nodeModulePaths(process.cwd());
    if (/^\.\.?(\/|$)/.test(request)) request = path.resolve(process.cwd(), request);
  }
  return resolve.call(this, request, parent, ...rest);
};
// Hooks for imports cost a thread, so they are for programs that may import; workers have no program, and share them.
if (program && Module.register && /\bimport\b/.test(require("fs").readFileSync(program, "utf8"))) {
  const [here, workspace] = [program, path.join(process.cwd(), "program.js")].map((file) => JSON.stringify(pathToFileURL(file)));
  const hook = `export const resolve = (name, context, next) =>
    next(name, context.parentURL === ${here} ? { ...context, parentURL: ${workspace} } : context);`;
  Module.register(`data:text/javascript,${encodeURIComponent(hook)}`);
}
