// The chat. Text of models and servers gets into the page as text only
// (textContent); the API key is kept in a variable and nowhere else.

import { showPicture } from "./picture.js";

const $ = (id) => document.getElementById(id);

let key = "";
let model = "";
let conversation = []; // what was said: {role, content}
let running = null; // the AbortController of the answer that is coming

function headers(more = {}) {
  return key ? { ...more, Authorization: `Bearer ${key}` } : more;
}

// The message of an error that the server sent, or its status.
async function errorOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

function showError(message) {
  $("error").textContent = message;
  $("error").hidden = !message;
}

// The data of a stream's events, one after the other.
async function* eventsOf(response) {
  const reader = response.body
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (waiting + value).split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      if (event.startsWith("data: ")) yield event.slice(6);
    }
  }
}

// ---------------------------------------------------------------------------
// Messages

function addMessage(role, text) {
  const message = document.createElement("article");
  message.className = `message ${role}`;
  for (const name of ["who", "text", "stats"]) {
    const part = document.createElement("div");
    part.className = name;
    message.append(part);
  }
  message.querySelector(".who").textContent = role;
  message.querySelector(".text").textContent = text;
  $("messages").append(message);
  $("messages").scrollTop = $("messages").scrollHeight;
  return message;
}

// A number that the user has given, under its name; nothing for an empty field.
function setting(body, name, id, neutral) {
  const text = $(id).value.trim();
  if (text !== "" && Number(text) !== neutral) body[name] = Number(text);
}

function requestFor(prompt) {
  const body = {
    model,
    stream: true,
    stream_options: { include_usage: true },
  };
  setting(body, "max_tokens", "max-tokens");
  setting(body, "temperature", "temperature");
  setting(body, "top_p", "top-p", 1);
  setting(body, "top_k", "top-k", 0);
  setting(body, "min_p", "min-p", 0);
  setting(body, "seed", "seed");
  if ($("mode").value === "completion") {
    return { path: "v1/completions", body: { ...body, prompt } };
  }
  const system = $("system").value.trim();
  const messages = [
    ...(system ? [{ role: "system", content: system }] : []),
    ...conversation,
  ];
  return { path: "v1/chat/completions", body: { ...body, messages } };
}

// The text that a chunk adds.
function takeChunk(chunk) {
  if (chunk.error) throw new Error(chunk.error.message);
  const choice = chunk.choices?.[0];
  return choice?.delta?.content ?? choice?.text ?? "";
}

// Asks for the answer to the conversation's last message.
async function answer(prompt) {
  const talk = conversation; // a new chat begins another one
  const message = addMessage("assistant", "");
  const target = message.querySelector(".text");
  const stats = message.querySelector(".stats");
  const begun = performance.now();
  let first = 0;
  let text = "";
  let usage = null;
  running = new AbortController();
  $("stop").disabled = false;
  $("send").disabled = true;
  showError("");
  try {
    const { path, body } = requestFor(prompt);
    const response = await fetch(path, {
      method: "POST",
      headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify(body),
      signal: running.signal,
    });
    if (response.status === 401) askForKey();
    if (!response.ok) throw new Error(await errorOf(response));
    for await (const data of eventsOf(response)) {
      if (data === "[DONE]") break;
      const chunk = JSON.parse(data);
      usage = chunk.usage ?? usage;
      const piece = takeChunk(chunk);
      if (!piece) continue;
      first ||= performance.now();
      text += piece;
      const atEnd =
        $("messages").scrollHeight - $("messages").scrollTop -
          $("messages").clientHeight < 40;
      target.append(piece);
      if (atEnd) $("messages").scrollTop = $("messages").scrollHeight;
    }
  } catch (error) {
    if (error.name === "AbortError") stats.textContent = "stopped";
    else showError(error.message);
  }
  if (text) {
    talk.push({ role: "assistant", content: text });
  } else {
    talk.pop(); // the message that has no answer
    message.remove();
  }
  if (usage && first) {
    const seconds = (performance.now() - first) / 1000;
    const rate = (usage.completion_tokens - 1) / Math.max(seconds, 1e-3);
    stats.textContent =
      `${usage.prompt_tokens} + ${usage.completion_tokens} tokens, ` +
      `first after ${((first - begun) / 1000).toFixed(2)} s, ` +
      `then ${rate.toFixed(1)} a second`;
  }
  running = null;
  $("stop").disabled = true;
  $("send").disabled = false;
  $("prompt").focus();
}

function send() {
  const prompt = $("prompt").value;
  if (!prompt.trim() || running) return;
  $("prompt").value = "";
  addMessage("user", prompt);
  conversation.push({ role: "user", content: prompt });
  answer(prompt);
}

// ---------------------------------------------------------------------------
// The server

function askForKey() {
  $("key-form").hidden = false;
  $("key").focus();
}

async function connect() {
  $("state").textContent = "";
  try {
    const response = await fetch("v1/models", { headers: headers() });
    if (response.status === 401) return askForKey();
    if (!response.ok) throw new Error(await errorOf(response));
    model = (await response.json()).data[0].id;
    $("model").textContent = model;
    $("key-form").hidden = true;
    $("prompt").focus();
    showPicture(() => fetch("status/events", { headers: headers() }), eventsOf);
  } catch (error) {
    $("state").textContent = `No answer from the server: ${error.message}`;
  }
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = $("key").value;
  $("key").value = "";
  connect();
});
$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});
$("stop").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});
$("clear").addEventListener("click", () => {
  running?.abort();
  conversation = [];
  $("messages").replaceChildren();
  showError("");
  $("prompt").focus();
});

connect();
