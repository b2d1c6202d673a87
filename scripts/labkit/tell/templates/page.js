"use strict";

// Tables sort by a head: what has no number, or says nothing, stays last.
const key = (row, column) => {
  const td = row.cells[column];
  if (td && "value" in td.dataset) return Number(td.dataset.value);
  const text = td ? (td.querySelector("summary") ?? td).textContent.trim() : "";
  return text === "-" ? "" : text;
};
const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });

function sort(head) {
  const body = head.closest("table").tBodies[0];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.closest("thead").querySelectorAll("[aria-sort]"))
    other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...body.rows].map(row => [key(row, head.dataset.sorts), row]);
  rows.sort(([a], [b]) => (a === "") - (b === "") || (down ? compare(b, a) : compare(a, b)));
  body.append(...rows.map(([, row]) => row));
}

for (const head of document.querySelectorAll("th[data-sorts]")) {
  head.tabIndex = 0;
  head.addEventListener("click", () => sort(head));
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(head); });
}

// Findings that are not chosen are hidden, and so are headings of none.
const form = document.getElementById("filter");

function filter() {
  const wanted = [...form.elements].filter(choice => choice.name && choice.value);
  const all = [...document.querySelectorAll("#findings li[data-kind]")];
  for (const li of all)
    li.hidden = !wanted.every(({ name, value }) => li.dataset[name].split("|").includes(value));
  for (const group of document.querySelectorAll("#findings section, #findings .fold")) {
    group.hidden = !group.querySelector("li[data-kind]:not([hidden])");
    if (group.matches("details")) group.open = wanted.length > 0;
  }
  const shown = all.filter(li => !li.hidden).length;
  form.querySelector("output").textContent = `${shown} of ${all.length}`;
}

if (form) {
  form.addEventListener("change", filter);
  filter();
  for (const link of document.querySelectorAll("[data-choose]"))
    link.addEventListener("click", () => {
      form.reset();
      form.elements.sender.value = link.dataset.choose;
      filter();
    });
}

// What a link leads to is not left folded.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.matches("tr")) target.querySelector("details").open = true;
  for (let at = target; at; at = at.parentElement) if (at.matches("details")) at.open = true;
  target.scrollIntoView();
}

addEventListener("hashchange", reveal);
reveal();

// Under a picture: what is at the pointer, or where that is among the axes' numbers.
const place = (from, to, scale, share) => Number((
  scale === "log" ? from * (to / from) ** share : from + (to - from) * share).toPrecision(3));

function pointed(event) {
  const figure = event.target.closest("figure");
  if (!figure) return;
  let text = "";
  for (let at = event.target; at !== figure && !text; at = at.parentElement) {
    const title = at.querySelector(":scope > title");
    if (title ?? at.title) text = title?.textContent ?? at.title;
    else if (at.dataset.axes) {
      const [x0, x1, xScale, y0, y1, yScale] = at.dataset.axes.split(" ")
        .map(part => isNaN(part) ? part : Number(part));
      const box = at.querySelector("path").getBoundingClientRect();
      const x = place(x0, x1, xScale, (event.clientX - box.left) / box.width);
      const y = place(y0, y1, yScale, (box.bottom - event.clientY) / box.height);
      text = `here: ${x}, ${y}`;
    }
  }
  figure.querySelector("output").textContent = text;
}

addEventListener("pointermove", pointed);
addEventListener("pointerdown", pointed);
