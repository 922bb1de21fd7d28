// The live picture: what the server says of itself twice a second (see
// runtime/serve/Monitor.h), drawn as bars, the newest on the right.

const $ = (id) => document.getElementById(id);
const kept = 120; // events: a minute

const history = [];
let isWatching = false;

function shape(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  return element;
}

function short(number) {
  if (number >= 100 || Number.isInteger(number)) return number.toFixed(0);
  return number.toFixed(number >= 10 ? 1 : 2);
}

// Stacked bars: `parts` gives an event's [class, height] from below.
function drawBars(svg, scale, parts, unit) {
  const stacks = history.map(parts);
  const heights = stacks.map((stack) =>
    stack.reduce((sum, [, height]) => sum + height, 0),
  );
  const most = Math.max(1, ...heights);
  svg.setAttribute("viewBox", `0 0 ${kept} 100`);
  const bars = [];
  stacks.forEach((stack, i) => {
    let top = 100;
    for (const [kind, height] of stack) {
      const part = (height / most) * 96;
      top -= part;
      bars.push(
        shape("rect", {
          class: kind,
          x: kept - stacks.length + i,
          y: top,
          width: 0.9,
          height: part,
        }),
      );
    }
  });
  svg.replaceChildren(...bars);
  if (scale) scale.textContent = `(up to ${short(most)} ${unit})`;
}

function drawLanes() {
  const lanes = history.at(-1).lanes;
  const box = $("lanes");
  while (box.children.length > lanes.length) box.lastChild.remove();
  while (box.children.length < lanes.length) {
    const row = document.createElement("div");
    row.className = "lane";
    const name = document.createElement("span");
    const svg = shape("svg", { preserveAspectRatio: "none", role: "img" });
    svg.setAttribute("viewBox", `0 0 ${kept} 100`);
    row.append(name, svg, document.createElement("output"));
    box.append(row);
  }
  lanes.forEach((lane, at) => {
    const [name, svg, output] = box.children[at].children;
    name.textContent = lane.name;
    const percent = `${(100 * lane.busy).toFixed(0)} %`;
    output.textContent = percent;
    svg.setAttribute("aria-label", `${lane.name}: busy ${percent}`);
    const bars = history.map((event, i) =>
      shape("rect", {
        class: "busy",
        x: kept - history.length + i,
        y: 0,
        width: 1,
        height: 100,
        opacity: event.lanes[at]?.busy ?? 0,
      }),
    );
    svg.replaceChildren(...bars);
  });
}

function drawNumbers(event) {
  const { pages } = event;
  $("n-tokens").textContent = short(event.tokens_per_second);
  $("n-prompt").textContent = short(event.prompt_tokens_per_second);
  $("n-steps").textContent = short(event.steps_per_second);
  $("n-running").textContent = event.running;
  $("n-waiting").textContent = event.waiting;
  $("n-paused").textContent = event.paused;
  $("n-acceptance").textContent =
    event.acceptance === null
      ? "-"
      : `${(100 * event.acceptance).toFixed(0)} %`;
  $("n-pages").textContent = `${pages.used} of ${pages.all}`;
  $("pages").value = pages.all ? pages.used / pages.all : 0;
}

function draw(event) {
  history.push(event);
  if (history.length > kept) history.shift();
  drawNumbers(event);
  drawBars(
    $("rows"),
    $("rows-scale"),
    ({ rows_per_step: rows }) => [
      ["certain", rows.certain],
      ["guesses", rows.guesses],
      ["prompt", rows.prompt],
    ],
    "rows",
  );
  drawBars(
    $("rate"),
    $("rate-scale"),
    (one) => [["rate", one.tokens_per_second]],
    "a second",
  );
  drawBars(
    $("queue"),
    $("queue-scale"),
    (one) => [
      ["certain", one.running],
      ["waiting", one.waiting + one.paused],
    ],
    "requests",
  );
  drawLanes();
}

// Draws what comes until the stream ends, then tries again.
export async function showPicture(ask, eventsOf) {
  if (isWatching) return;
  isWatching = true;
  for (let wait = 1; ; wait = Math.min(2 * wait, 30)) {
    try {
      const response = await ask();
      if (response.status === 401) break;
      if (!response.ok) throw new Error(`status ${response.status}`);
      $("picture-state").textContent = "";
      for await (const data of eventsOf(response)) {
        draw(JSON.parse(data));
        wait = 1;
      }
      throw new Error("the stream has ended");
    } catch (error) {
      $("picture-state").textContent =
        `No picture: ${error.message}; next try in ${wait} s`;
    }
    await new Promise((done) => setTimeout(done, 1000 * wait));
  }
  isWatching = false;
}
