// How a JavaScript program starts behind the fence: what it requires is looked for in the workspace first.
const Module = require("module");
const path = require("path");
const program = process.argv[1];
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  if (parent && parent.filename === program) {
    parent.paths = Module._nodeModulePaths(process.cwd());
    if (/^\.\.?(\/|$)/.test(request)) request = path.resolve(process.cwd(), request);
  }
  return resolve.call(this, request, parent, ...rest);
};
