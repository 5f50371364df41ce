// JSON with exact integers.
//
// JavaScript's own JSON loses everything above 2^53: a u64 such as rentEpoch cannot be
// printed, and a client's 63-bit request id comes back as another number, so that the
// client waits for ever. Here an integer that does not fit a Number is a BigInt, both ways.

const DEPTH_LIMIT = 64;

export function parseJSON(text) {
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.space();
  if (parser.at !== text.length) parser.fail('text after the value');
  return value;
}

export function stringifyJSON(value) {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'object': {
      if (value === null) return 'null';
      if (Array.isArray(value)) return `[${value.map((v) => stringifyJSON(v ?? null)).join(',')}]`;
      const members = [];
      for (const [key, member] of Object.entries(value)) {
        if (member !== undefined) members.push(`${JSON.stringify(key)}:${stringifyJSON(member)}`);
      }
      return `{${members.join(',')}}`;
    }
    default:
      return JSON.stringify(value);
  }
}

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail(why) {
    throw new SyntaxError(`JSON: ${why} at ${this.at}`);
  }

  space() {
    while (' \t\r\n'.includes(this.text[this.at] ?? '!')) this.at++;
  }

  take(literal, value) {
    if (!this.text.startsWith(literal, this.at)) this.fail('unexpected text');
    this.at += literal.length;
    return value;
  }

  value(depth) {
    if (depth > DEPTH_LIMIT) this.fail('nested too deeply');
    this.space();
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth);
      case '[':
        return this.array(depth);
      case '"':
        return this.string();
      case 't':
        return this.take('true', true);
      case 'f':
        return this.take('false', false);
      case 'n':
        return this.take('null', null);
      default:
        return this.number();
    }
  }

  object(depth) {
    const members = {};
    for (const _ of this.items('{', '}')) {
      this.space();
      const key = this.string();
      this.space();
      this.take(':');
      // defineProperty, so that a member named __proto__ is a member and nothing else.
      Object.defineProperty(members, key, {
        value: this.value(depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return members;
  }

  array(depth) {
    const values = [];
    for (const _ of this.items('[', ']')) values.push(this.value(depth + 1));
    return values;
  }

  *items(open, close) {
    this.take(open);
    this.space();
    if (this.text[this.at] === close) {
      this.at++;
      return;
    }
    for (;;) {
      yield;
      this.space();
      if (this.text[this.at] === close) {
        this.at++;
        return;
      }
      this.take(',');
    }
  }

  string() {
    const token = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
    token.lastIndex = this.at;
    const found = token.exec(this.text);
    if (!found) this.fail('a string was expected');
    this.at = token.lastIndex;
    return JSON.parse(found[0]);
  }

  number() {
    const token = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
    token.lastIndex = this.at;
    const found = token.exec(this.text);
    if (!found) this.fail('a value was expected');
    this.at = token.lastIndex;
    const [raw, fraction, exponent] = found;
    const number = Number(raw);
    if (fraction || exponent || Number.isSafeInteger(number)) return number;
    return BigInt(raw);
  }
}
