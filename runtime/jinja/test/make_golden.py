#!/usr/bin/env python3
"""Writes golden.json: what Jinja2 makes of cases.json and templates/*.jinja.

  make_golden.py
Needs: jinja2 >= 3.1.6. The environment is that of transformers'
utils/chat_template_utils.py. A result is the text; {"raised": text} where the
template calls raise_exception; {"error": true} where Python raises.
"""
import datetime, glob, json, os

import jinja2, jinja2.ext, jinja2.sandbox

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Raised(Exception):
    pass


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("keep"), [], [], body).set_lineno(line)

    def keep(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def raise_exception(text):
        raise Raised(str(text))

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=NOW.strftime)
    return env


def render(env, text, variables):
    try:
        return env.from_string(text).render(**variables)
    except Raised as raised:
        return {"raised": str(raised)}
    except Exception:
        return {"error": True}


def main():
    env = environment()
    cases = json.load(open(os.path.join(HERE, "cases.json")))
    golden = {"snippets": [render(env, s, {"tools": None, "documents": None, **cases["variables"],
                                           "messages": [], "add_generation_prompt": True})
                           for s in cases["snippets"]], "templates": {}}
    for path in sorted(glob.glob(os.path.join(HERE, "templates/*.jinja"))):
        text = open(path, newline="").read()
        golden["templates"][os.path.basename(path)] = {
            c["name"]: render(env, text, {
                "bos_token": "<s>", "eos_token": "</s>", "tools": c.get("tools"), "documents": None,
                "messages": c["messages"], "add_generation_prompt": c.get("add_generation_prompt", True),
                **c.get("variables", {})}) for c in cases["conversations"]}
    with open(os.path.join(HERE, "golden.json"), "w") as out:
        json.dump(golden, out, ensure_ascii=False, indent=0)
        out.write("\n")


if __name__ == "__main__":
    main()
