// Makes elements. Texts become text nodes and nothing is ever parsed as markup: the page's policy forbids it, too.

const TAGS = new Set(["p", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "br", "table", "thead", "tbody", "tr", "th", "td"]);

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A tree of texts and [tag, children, start], as the server makes it of Markdown.
export function prose(tree) {
  return tree.map((node) => {
    if (typeof node === "string") return node;
    const [tag, children, start] = node;
    const element = document.createElement(TAGS.has(tag) ? tag : "span");
    if (tag === "ol" && Number.isInteger(start)) element.start = start;
    element.append(...prose(children));
    return element;
  });
}

export function button(words, action, properties = {}) {
  const made = h("button", { type: "button", ...properties }, words);
  made.addEventListener("click", async () => {
    if (made.ariaBusy) return;
    made.ariaBusy = "true";
    try {
      await action();
    } catch (error) {
      notify(error.message);
    } finally {
      made.ariaBusy = null;
    }
  });
  return made;
}

export function notify(words) {
  const place = document.getElementById("notice");
  place.hidden = !words;
  place.replaceChildren(words ?? "", ...(words ? [button("Dismiss", () => notify(""), { class: "quiet" })] : []));
}

export function announce(words) {
  document.getElementById("announcer").textContent = words;
}

// A dialog that closes by Escape, too; gives the fields of its form, or null where it was closed.
export function ask(title, content, confirm) {
  const form = h("form", { method: "dialog" }, h("h2", {}, title), content,
    h("div", { class: "buttons" }, h("button", { value: "", class: "quiet", formnovalidate: true }, "Cancel"), h("button", { value: "yes", class: "main" }, confirm)));
  const dialog = h("dialog", { "aria-label": title }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const fields = Object.fromEntries(new FormData(form));
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? fields : null);
    });
  });
}

// Asks again, with what was typed and with what was wrong, until the action succeeds or the dialog is closed; then gives null.
export async function askUntilDone(title, content, confirm, action) {
  const wrong = h("p", { class: "failure", role: "alert" });
  for (let said; (said = await ask(title, [content, wrong], confirm)); ) {
    try {
      return await action(said);
    } catch (error) {
      wrong.textContent = error.message;
    }
  }
  return null;
}

export function field(label, name, properties = {}) {
  return h("label", { class: "field" }, label, h("input", { name, ...properties }));
}
