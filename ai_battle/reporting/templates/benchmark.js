"use strict";
// Tables sort by a click on a heading; tasks are searched and filtered; a setting is lit wherever it is shown.
const all = (query, within = document) => [...within.querySelectorAll(query)];

const valueOf = (row, place) => {
  const cell = row.cells[place];
  return "by" in cell.dataset ? Number(cell.dataset.by) : cell.textContent.trim();
};
const inOrder = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, undefined, { numeric: true });
};
const sort = (table, heading) => {
  const way = heading.dataset.way === "down" ? "up" : "down";
  all("th", table).forEach((each) => delete each.dataset.way);
  heading.dataset.way = way;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => inOrder(valueOf(a, heading.cellIndex), valueOf(b, heading.cellIndex)) * (way === "up" ? 1 : -1));
  table.tBodies[0].append(...rows);
};
for (const table of all("table.sortable")) {
  table.classList.add("sorting");
  for (const heading of table.tHead.rows[0].cells) heading.addEventListener("click", () => sort(table, heading));
}

const light = (name) => {
  for (const each of all("[data-of]")) each.classList.toggle("dim", name !== "" && each.dataset.of !== name);
};
for (const each of all("[data-of]")) {
  each.addEventListener("mouseenter", () => light(each.dataset.of));
  each.addEventListener("mouseleave", () => light(""));
}

const items = all(".item");
const controls = document.getElementById("controls");
if (controls && items.length) {
  const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search in tasks and answers" });
  search.ariaLabel = search.placeholder;
  const choice = Object.assign(document.createElement("select"), { ariaLabel: "Which tasks are shown" });
  const kinds = { "": "all tasks", differs: "settings differ", helped: "got help", "all-wrong": "nobody right", failed: "failed" };
  for (const [value, said] of Object.entries(kinds)) choice.append(new Option(said, value));
  const shown = document.createElement("output");
  const filter = () => {
    const wanted = search.value.toLowerCase();
    for (const item of items) {
      const marked = !choice.value || item.dataset.marks.split(" ").includes(choice.value);
      item.hidden = !marked || !item.textContent.toLowerCase().includes(wanted);
    }
    shown.textContent = `${items.filter((item) => !item.hidden).length} of ${items.length}`;
  };
  search.addEventListener("input", filter);
  choice.addEventListener("change", filter);
  controls.append(search, choice, shown);
  controls.hidden = false;
  filter();
}
