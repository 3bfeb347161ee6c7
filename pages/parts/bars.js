// Bars that people drag. Streamlit calls the default export again at each rerun that brings new data;
// the elements stay, so that focus, half-typed text and a drag in progress survive.

const views = new WeakMap(); // parent element -> the view built in it

const NUMBER = "(?:\\d+(?:[.,]\\d*)?|[.,]\\d+)(?:e[+-]?\\d+)?";
const TYPED = new RegExp(`^(${NUMBER})\\s*(?:(%)|/\\s*(${NUMBER}))?$`, "i");
const toNumber = (digits) => Number(digits.replace(",", "."));

// Only to draw the bar and the running total: Python reads the same text again and decides.
function parse(text) {
  const match = TYPED.exec(text.trim());
  if (!match) return null;
  const value = toNumber(match[1]) / (match[2] ? 100 : match[3] ? toNumber(match[3]) : 1);
  return Number.isFinite(value) ? value : null;
}

// A rounded number is marked as such, so that 0.99999 never reads as a plain 1, nor 0.00001 as 0.
function readable(total) {
  const shown = Number(total.toFixed(4));
  if (Math.abs(total - shown) < 1e-9) return `${shown}`;
  return shown === 0 ? "under 0.0001" : `≈ ${shown}`;
}

function make(tag, className, properties, ...children) {
  const node = Object.assign(document.createElement(tag), { className }, properties);
  node.append(...children);
  return node;
}

function build({ labels, lines, top, step, describe }) {
  const view = { root: null, send: null, receive, seen: null };
  const ticks = Math.floor(top / step + 1e-9);
  const textAt = (tick) => String(Number((clamp(tick, ticks) * step).toFixed(10)));
  const running = make("p", "running", { ariaHidden: "true" });
  // A second, invisible line for screen readers changes on release, not with every pixel of a drag.
  const status = make("p", "status", { role: "status", ariaLive: "polite" });
  const bars = labels.map(makeBar);
  let sent = "";
  let pending = []; // what was sent and has not come back from Python yet
  let bad = new Set(); // bars whose text Python could not read

  const axis = make("div", "axis", { ariaHidden: "true" });
  for (const share of [0, 0.5, 1]) {
    const tick = make("span", "", {}, String(Number((share * top).toPrecision(3))));
    tick.style.bottom = `${100 * share}%`;
    axis.append(tick);
  }
  const group = { role: "group", ariaLabel: describe || "Your prediction" };
  const row = make("div", "bars", {}, axis, ...bars.map((bar) => bar.root));
  const size = labels.length > 8 ? "lab many" : "lab";
  view.root = make("div", size, group, make("div", "scroll", {}, row), running, status);
  return view;

  function makeBar(label, index) {
    const fill = make("div", "fill", {});
    const slider = make("input", "slider", { type: "range", min: 0, max: top, step, value: 0 });
    slider.ariaLabel = `${label}: your prediction`;
    slider.ariaOrientation = "vertical";
    slider.setAttribute("aria-describedby", `refs-${index}`);
    const field = make("input", "field", { type: "text", autocomplete: "off", spellcheck: false });
    field.ariaLabel = `${label}: type a number`;
    field.autocapitalize = "off";
    field.enterKeyHint = "next";
    const refs = make("div", "refs", { id: `refs-${index}` });
    const track = make("div", "track", { ariaHidden: "true" }, fill);
    const plot = make("div", "plot", {}, slider, track);
    lines.forEach(({ name, values, texts }, order) => {
      // p's letter stands left and q's right of the track: they never collide, even where p = q.
      const side = order % 2 ? "right" : "left";
      const line = make("div", `line ${order ? "dashed" : "solid"} ${side}`, { ariaHidden: "true" });
      line.append(make("i", "", {}, name));
      line.style.bottom = `${100 * clamp(values[index] / top, 1)}%`;
      plot.append(line);
      refs.append(make("span", "", {}, make("i", "", {}, name), ` ${texts[index]} `));
    });
    const mark = make("span", "mark", { ariaHidden: "true" });
    plot.append(mark);
    const name = make("div", "label", { dir: "auto", title: label }, label);
    const root = make("div", "bar", {}, plot, field, name, refs);
    const bar = { label, root, fill, mark, slider, field, value: null, editing: false };

    const set = (tick) => {
      field.value = textAt(tick);
      edited(index);
    };

    // The pointer is followed here and not by the native slider, which says nothing when an unset bar
    // is clicked at 0, measures from thumb to thumb, and does not jump to a tap on every phone.
    const follow = (event) => {
      const box = track.getBoundingClientRect();
      set(Math.round((((box.bottom - event.clientY) / box.height) * top) / step));
    };
    for (const type of ["mousedown", "touchstart"]) {
      slider.addEventListener(type, (event) => event.preventDefault(), { passive: false });
    }
    slider.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      slider.focus({ preventScroll: true });
      slider.setPointerCapture(event.pointerId);
      follow(event);
    });
    slider.addEventListener("pointermove", (event) => {
      if (slider.hasPointerCapture(event.pointerId)) follow(event);
    });
    slider.addEventListener("lostpointercapture", commit);

    slider.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const at = (bar.value ?? 0) / step;
      const up = (by) => Math.floor(at + 1e-9) + by;
      const down = (by) => Math.ceil(at - 1e-9) - by;
      const moves = {
        ArrowUp: up(1), ArrowRight: up(1), ArrowDown: down(1), ArrowLeft: down(1),
        PageUp: up(10), PageDown: down(10), Home: 0, End: ticks,
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      set(moves[event.key]);
    });
    slider.addEventListener("keyup", commit);
    slider.addEventListener("blur", commit);
    // Assistive technology moves a slider without pointer or keys.
    slider.addEventListener("input", () => set(Math.round(slider.value / step)));
    slider.addEventListener("change", commit);

    field.addEventListener("input", () => edited(index));
    field.addEventListener("change", commit);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      commit();
      bars[index + 1]?.field.focus();
    });
    return bar;
  }

  function clamp(value, most) {
    return Math.min(Math.max(value, 0), most);
  }

  function edited(index) {
    bad.delete(index);
    bars[index].editing = true;
    draw(bars[index], index);
    running.replaceChildren(...summary());
  }

  function draw(bar, index) {
    const text = bar.field.value.trim();
    bar.value = bad.has(index) ? null : parse(text);
    const above = bar.value > top;
    bar.root.classList.toggle("unset", bar.value === null);
    bar.root.classList.toggle("above", above);
    bar.mark.textContent = bar.value === null ? "?" : above ? "▲" : "";
    bar.fill.style.height = `${100 * clamp(bar.value / top, 1)}%`;
    bar.slider.value = bar.value ?? 0;
    const silent = text ? `cannot read ${text}` : "not predicted yet";
    const spoken = above ? `${text}, above the track` : text;
    bar.slider.ariaValueText = bar.value === null ? silent : spoken;
    // "1/" on the way to "1/3" is not a mistake yet.
    bar.field.ariaInvalid = String(bar.value === null && text !== "" && !bar.editing);
  }

  function drawAll() {
    bars.forEach(draw);
    running.replaceChildren(...summary());
    const settled = !bars.some((bar) => bar.editing);
    if (settled && status.textContent !== running.textContent) status.replaceChildren(...summary());
  }

  function commit() {
    for (const bar of bars) bar.editing = false;
    drawAll();
    const texts = bars.map((bar) => bar.field.value.trim() || null);
    const now = JSON.stringify(texts);
    if (now === sent) return;
    sent = now;
    pending.push(now);
    view.send("bars", texts); // every bar, each time: a state value replaces the one before
  }

  // Python's answer is either an echo of what was sent from here, perhaps a late one that must not
  // undo a newer drag, or news: session state set by the page.
  function receive(texts, unreadable) {
    const incoming = JSON.stringify(texts);
    const echo = pending.indexOf(incoming);
    const news = echo < 0 && incoming !== view.seen;
    pending = news ? [] : pending.slice(echo + 1);
    const first = view.seen === null;
    view.seen = incoming;
    if (news) {
      bars.forEach((bar, index) => (bar.field.value = texts[index] ?? ""));
      sent = incoming;
      // Tell the browser's own store too, or its old state comes back at the next rerun.
      if (!first) view.send("bars", texts);
    }
    bad = new Set(unreadable.filter((index) => bars[index].field.value.trim() === texts[index]));
    drawAll();
  }

  function summary() {
    const done = bars.filter((bar) => bar.value !== null);
    const waiting = bars.filter((bar) => !bar.field.value.trim());
    const unread = bars.filter((bar) => bar.value === null && bar.field.value.trim());
    const all = done.length === bars.length;
    const total = readable(done.reduce((sum, bar) => sum + bar.value, 0));
    const count = `${bars.length} ${bars.length === 1 ? "bar" : "bars"}`;
    const parts = [all && bars.length > 1 ? `All ${count} set` : `${done.length} of ${count} set`];
    if (waiting.length) parts.push(" · ", ...names(waiting), " still to predict");
    if (unread.length) parts.push(" · ", ...names(unread), " cannot be read");
    if (done.length) parts.push(` · ${all ? "total" : "total so far"} ${total}`);
    return parts;
  }

  function names(some) {
    const shown = some.slice(0, 6).flatMap((bar) => [", ", make("bdi", "", {}, bar.label)]);
    return some.length > 6 ? [...shown.slice(1), ` and ${some.length - 6} more`] : shown.slice(1);
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const shape = JSON.stringify([data.labels, data.lines, data.top, data.step, data.describe]);
  let view = views.get(parentElement);
  if (view?.shape !== shape) {
    view?.root.remove();
    view = Object.assign(build(data), { shape });
    parentElement.append(view.root);
    views.set(parentElement, view);
  }
  view.send = setStateValue; // the newest: each run of the script has its own
  view.receive(data.bars, data.bad);
}
