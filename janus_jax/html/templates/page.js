// Makes tables sortable and searchable and charts live. Without it the page shows the same.
"use strict";
(function () {
  const NUMBER = /^<?([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)/;
  const FRACTION = /^(\d+)\/(\d+)/;

  const STATUSES = ["confirmed", "selected", "not_replicated", "not_selected"];

  function key(cell, numeric) {
    const text = cell.textContent.trim();
    if (!numeric) return text.toLowerCase();
    const parts = FRACTION.exec(text);
    if (parts) return +parts[2] ? parts[1] / parts[2] : null;
    const number = NUMBER.exec(text);
    return number ? parseFloat(number[1].replace(/,/g, "")) : null;
  }

  function sort(table, head) {
    const [by, numeric] = [head.dataset.sort, head.classList.contains("num")];
    const before = head.getAttribute("aria-sort");
    const small = /^p /.test(head.textContent.trim()); // of p-values the small ones come first
    const down = before ? before === "ascending" : numeric && !small;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const of = (row) => {
      if (by === "status") return STATUSES.indexOf(row.dataset.status);
      const found = key(row.cells[head.cellIndex], numeric);
      return by === "size" && found !== null ? Math.abs(found) : found;
    };
    const keyed = Array.from(body.rows, (row) => [of(row), row]);
    const order = new Intl.Collator(undefined, { numeric: true });
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // unknown ones go last
      const difference = typeof a === "number" ? a - b : order.compare(a, b);
      return down ? -difference : difference;
    });
    body.replaceChildren(...keyed.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (head.dataset.sort === "size") button.title = "Sorts by size, whichever the sign";
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  for (const form of document.querySelectorAll("form.controls")) {
    const rows = Array.from(document.getElementById(form.dataset.table).tBodies[0].rows);
    const texts = rows.map((row) => row.cells[0].textContent.toLowerCase()); // name and reason
    const [search, status, said] = ["search", "status", "said"].map((n) => form.elements[n]);
    // What else may have been meant: what was not tested, or not found.
    const elsewhere = Array.from(form.querySelectorAll(".elsewhere"), (link) => {
      const place = document.querySelector(link.hash);
      link.addEventListener("click", () => {
        for (const each of [place, ...place.querySelectorAll("details")]) each.open = true;
      });
      const others = Array.from(place.querySelectorAll("tbody tr, li"), (item) => item.textContent.toLowerCase());
      return [link, others];
    });
    const apply = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        const fits = (!status.value || row.dataset.status === status.value) &&
          words.every((word) => texts[i].includes(word));
        row.hidden = !fits;
        shown += fits;
      });
      said.value = shown === rows.length ? `${rows.length} shown` : `${shown} of ${rows.length} shown`;
      for (const [link, others] of elsewhere) {
        const more = others.filter((text) => words.every((word) => text.includes(word))).length;
        link.hidden = !words.length || !more;
        link.textContent = `${more} ${link.dataset.said}`;
      }
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply(); // a browser may have kept what was typed before
  }

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function tell(handler, event, item, value) {
    tip.hidden = !value;
    if (!value) return;
    const list = document.createElement("dl");
    for (const [name, text] of Object.entries(value)) {
      const [term, said] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      said.textContent = text; // text, never markup
      said.dir = "auto";
      list.append(term, said);
    }
    tip.replaceChildren(list);
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8))}px`;
  }

  async function enliven(figure) {
    const place = figure.querySelector(".live");
    const spec = JSON.parse(document.getElementById(`${figure.id}-spec`).textContent);
    const view = new vega.View(vega.parse(spec, null, { ast: true }), {
      renderer: "svg",
      expr: vega.expressionInterpreter,
      tooltip: tell,
    });
    place.hidden = false;
    let width = 0;
    const fit = async () => {
      const now = Math.floor(Math.min(figure.clientWidth, spec.width));
      if (!now || now === width) return;
      width = now;
      await view.signal("narrow", now < 520).width(now).resize().runAsync();
    };
    await fit();
    view.initialize(place);
    await view.runAsync();
    figure.classList.add("is-live");
    new ResizeObserver(fit).observe(figure);
  }

  if (window.vega) {
    // Charts come to life as they come near, so that a long page starts quickly.
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        near.unobserve(entry.target);
        enliven(entry.target);
      }
    }, { rootMargin: "400px" });
    document.querySelectorAll("figure.chart").forEach((figure) => near.observe(figure));
  }

  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
  });
})();
