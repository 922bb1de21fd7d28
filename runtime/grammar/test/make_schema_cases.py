#!/usr/bin/env python3
"""Makes schema_cases.json: schemas, texts that match them and texts that don't.

  make_schema_cases.py OUT
Needs: jsonschema[format]. Documents are made at random for each schema in the
form that the grammar writes (declared order, no undeclared properties where
additionalProperties is left out) and taken where jsonschema says that they are
valid. Changed documents and changed texts are taken as refused where jsonschema
says that they are not valid, or json that they are not JSON.
"""
import copy, json, random, sys

from jsonschema import Draft202012Validator

STRINGS = ["", "a", "ab", "abc", "hello world", "é€😀", "line\nbreak", "q\"uo\\te", "tab\t", "x" * 30, "0", "null"]
ANY = [None, True, False, 0, 1, -7, 2.5, "", "text", [], [1, "a"], {}, {"k": [None]}]

ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": r"^\d{5}(-\d{4})?$", "x-samples": ["12345", "12345-6789"]}},
           "required": ["street", "zip"], "additionalProperties": False}

SCHEMAS = [
    {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"type": ["integer", "array"]},
    {"type": "string", "minLength": 2}, {"type": "string", "maxLength": 3}, {"type": "string", "minLength": 1, "maxLength": 12},
    {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": -17, "maximum": 204}, {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 101},
    {"type": "number", "minimum": 0, "maximum": 1}, {"type": "number", "exclusiveMinimum": -2.5, "maximum": 3.75}, {"type": "integer", "multipleOf": 7},
    {"type": "number", "multipleOf": 0.5}, {"enum": ["red", "green", "blue"]}, {"enum": [1, "1", None, True, [1], {"a": 1}]}, {"const": {"a": [1, 2, {"b": None}]}},
    {"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}, {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"}, "maxItems": 4},
    {"type": "array", "items": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2}, "minItems": 2},
    {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}, "required": ["name", "age"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}, "d": {"type": "integer"}}, "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "null"}, "ab": {"type": "null"}, "abc": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
    {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 3},
    {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^s_": {"type": "string"}, "^n_": {"type": "number"}}, "additionalProperties": False, "x-names": ["s_", "s_a", "n_1", "n_é", "x"]},
    {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,3}$"}, "additionalProperties": {"type": "integer"}, "x-names": ["a", "abc", "abcd", "A", ""]},
    {"type": "object", "properties": {"home": {"$ref": "#/$defs/address"}, "work": {"$ref": "#/$defs/address"}}, "required": ["home"], "additionalProperties": False, "$defs": {"address": ADDRESS}},
    {"$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["value"], "additionalProperties": False}}, "$ref": "#/$defs/node"},
    {"type": "object", "properties": {"value": {"type": "string"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["value", "next"], "additionalProperties": False},
    {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}, {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"], "additionalProperties": False}]},
    {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"], "anyOf": [{"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]},
                                                                                           {"properties": {"kind": {"const": "b"}, "y": {"type": "string"}}}]},
    {"oneOf": [{"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "radius"], "additionalProperties": False},
               {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"], "additionalProperties": False}]},
    {"oneOf": [{"type": "null"}, {"type": "array", "items": {"oneOf": [{"const": 1}, {"const": "one"}]}}]},
    {"allOf": [{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}, {"properties": {"id": {"minimum": 10}, "tag": {"type": "string"}}}]},
    {"allOf": [{"type": ["integer", "string"]}, {"type": ["string", "null"]}, {"minLength": 1}, {"maxLength": 3}]},
    {"allOf": [{"$ref": "#/$defs/address"}], "$defs": {"address": ADDRESS}, "description": "d", "default": None},
    {"type": "string", "pattern": "^(\\+1)?[0-9]{3}-[0-9]{4}$", "x-samples": ["555-1234", "+1555-1234"]}, {"type": "string", "pattern": "o", "x-samples": ["o", "foo", "hello\n"]},
    {"type": "string", "pattern": "^[^\"\\\\]*$", "x-samples": ["", "a b", "\t'", "é"]}, {"type": "string", "pattern": "^[a-f0-9]+$", "minLength": 2, "maxLength": 4, "x-samples": ["af", "0123", "a0b"]},
    {"type": "string", "format": "date", "x-samples": ["2024-02-29", "1999-12-31", "2023-04-30"]}, {"type": "string", "format": "time", "x-samples": ["12:30:00Z", "23:59:59.5+01:00"]},
    {"type": "string", "format": "date-time", "x-samples": ["2024-02-29T12:00:00Z", "2001-01-01T00:00:00.123-08:00"]}, {"type": "string", "format": "uuid", "x-samples": ["123e4567-e89b-12d3-a456-426614174000"]},
    {"type": "string", "format": "email", "x-samples": ["a@b.co", "x.y+z@example.org"]}, {"type": "string", "format": "ipv4", "x-samples": ["127.0.0.1", "255.0.10.99"]},
    {"type": "string", "format": "ipv6", "x-samples": ["::1", "2001:db8::ff00:42:8329"]}, {"type": "string", "format": "duration", "x-samples": ["P3D", "PT1H30M", "P1Y2M3DT4H5M6S"]},
    {"type": "object", "properties": {"steps": {"type": "array", "items": {"type": "object", "properties": {"explanation": {"type": "string"}, "output": {"type": "string"}}, "required": ["explanation", "output"],
                                                                            "additionalProperties": False}}, "final_answer": {"type": "string"}}, "required": ["steps", "final_answer"], "additionalProperties": False},
    {"type": "object", "properties": {"quo\"te": {"type": "integer"}, "new\nline": {"type": "integer"}, "é": {"type": "integer"}, "": {"type": "integer"}}, "required": ["é", ""], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"items": {"enum": ["x", "y"]}, "type": "array"}, "b": {"type": ["object", "null"], "additionalProperties": {"type": "boolean"}}}, "required": ["a", "b"], "additionalProperties": False},
    {"type": "object"}, {"type": "array"}, {}, True,
]

rng = random.Random(7)


def merged(parts):
    """One schema for all of them, as far as documents for it are to be made."""
    out = {}
    for part in parts:
        for key, value in part.items():
            if key == "properties" and key in out:
                for name, schema in value.items():
                    out[key][name] = merged([out[key][name], schema]) if name in out[key] else schema
            elif key == "required" and key in out:
                out[key] = out[key] + value
            elif key == "type" and key in out:
                as_list = lambda t: t if isinstance(t, list) else [t]
                out[key] = [t for t in as_list(out[key]) if t in as_list(value)]
            else:
                out[key] = copy.deepcopy(value)
    return out


def resolve(schema, root):
    while isinstance(schema, dict) and "$ref" in schema:
        target = root
        for token in schema["$ref"].split("/")[1:]:
            target = target[token]
        schema = merged([target, {k: v for k, v in schema.items() if k not in ("$ref", "$defs")}])
    return schema


def make_number(schema):
    low = max(schema.get("minimum", -100), schema.get("exclusiveMinimum", -100))
    high = min(schema.get("maximum", 300), schema.get("exclusiveMaximum", 300))
    step = schema.get("multipleOf")
    if schema["type"] == "integer" or rng.random() < 0.3:
        value = rng.randint(int(low), int(high))
        return value // step * step if step and isinstance(step, int) else value
    return round(round(rng.uniform(low, high) / step) * step, 6) if step else round(rng.uniform(low, high), rng.randint(1, 4))


def make_object(schema, root, depth):
    out = {}
    required = schema.get("required", [])
    for name, value in schema.get("properties", {}).items():
        if name in required or rng.random() < 0.5:
            out[name] = make(value, root, depth + 1)
    others = schema.get("additionalProperties", "properties" not in schema)
    if "patternProperties" in schema or others is not False:
        for name in schema.get("x-names", ["k1", "k 2", "a_", "abcd"]):
            if rng.random() < 0.4 and name not in schema.get("properties", {}):
                value = others
                for prefix, pattern in schema.get("patternProperties", {}).items():
                    if name.startswith(prefix[1:]):
                        value = pattern
                if value is not False:
                    out[name] = make(value, root, depth + 1)
    return out


def make_array(schema, root, depth):
    tuple_ = schema.get("prefixItems", [])
    rest = schema.get("items", True)
    low = schema.get("minItems", len(tuple_))
    high = schema.get("maxItems", low + 3) if rest is not False else len(tuple_)
    if depth > 4:
        high = low
    return [make(tuple_[i] if i < len(tuple_) else rest, root, depth + 1) for i in range(rng.randint(low, max(low, high)))]


def make(schema, root, depth=0):
    if schema is True:
        return copy.deepcopy(rng.choice(ANY))
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = schema[key] if depth < 5 else schema[key][-1:]
            rest = {k: v for k, v in schema.items() if k != key}
            return make(merged([rest, resolve(rng.choice(options), root)]), root, depth)
    if "allOf" in schema:
        rest = {k: v for k, v in schema.items() if k != "allOf"}
        return make(merged([rest] + [resolve(part, root) for part in schema["allOf"]]), root, depth)
    if "x-samples" in schema:
        return rng.choice(schema["x-samples"])
    kind = schema.get("type")
    if kind is None:
        return copy.deepcopy(rng.choice(ANY))
    if isinstance(kind, list):
        kind = rng.choice(kind)
    schema = {**schema, "type": kind}
    if kind == "object":
        return make_object(schema, root, depth)
    if kind == "array":
        return make_array(schema, root, depth)
    if kind in ("integer", "number"):
        return make_number(schema)
    if kind == "string":
        return rng.choice(STRINGS)[:schema.get("maxLength", 99)]
    return rng.choice([True, False]) if kind == "boolean" else None


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from places(value[i], path + (i,))


def mutated(document):
    document = copy.deepcopy(document)
    path = rng.choice(list(places(document)))
    if not path:
        return copy.deepcopy(rng.choice(ANY))
    at = document
    for step in path[:-1]:
        at = at[step]
    key, what = path[-1], rng.random()
    value = at[key]
    if what < 0.25:
        del at[key]
    elif what < 0.4 and isinstance(at, dict):
        at[rng.choice(["zz", "A", "abcx", "s_9"])] = copy.deepcopy(rng.choice(ANY))
    elif what < 0.5 and isinstance(at, list):
        at.insert(rng.randrange(len(at) + 1), copy.deepcopy(rng.choice(ANY)))
    elif what < 0.8 and isinstance(value, (int, float)) and not isinstance(value, bool):
        at[key] = rng.choice([value + 1000, value - 1000, value + 0.5, -value])
    elif what < 0.8 and isinstance(value, str):
        at[key] = rng.choice([value[:-1], value + "x", value * 3, value.upper(), "-" + value])
    else:
        at[key] = copy.deepcopy(rng.choice(ANY))
    return document


def dump(document):
    style = rng.choice([{"separators": (",", ":")}, {}, {"indent": 2}])
    return json.dumps(document, ensure_ascii=False, **style)


def broken(text):
    """The text with one character more, less or changed."""
    at = rng.randrange(len(text))
    piece = rng.choice("{}[]:,\"0e\\ ")
    return rng.choice([text[:at] + text[at + 1:], text[:at] + piece + text[at:], text[:at] + piece + text[at + 1:]])


def parse(text):
    def once(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)
    return json.loads(text, object_pairs_hook=once, parse_constant=lambda c: 1 / 0)


def main():
    cases = []
    for schema in SCHEMAS:
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        fits, fails = [], []
        for _ in range(400):
            document = make(schema, schema)
            if len(fits) < 10 and validator.is_valid(document):
                text = dump(document)
                if text not in fits:
                    fits.append(text)
            if len(fails) < 10:
                changed = mutated(document)
                if not validator.is_valid(changed) and dump(changed) not in fails:
                    fails.append(dump(changed))
        for text in list(fits):
            for _ in range(6):
                wrong = broken(text)
                try:
                    refused = not validator.is_valid(parse(wrong))
                except (ValueError, ZeroDivisionError, RecursionError):
                    refused = True
                if refused and wrong not in fails and len(fails) < 24:
                    fails.append(wrong)
        assert fits, schema
        cases.append({"schema": schema, "in": fits, "out": fails})
    with open(sys.argv[1], "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(len(cases), "schemas,", sum(len(c["in"]) for c in cases), "texts in,", sum(len(c["out"]) for c in cases), "out")


main()
