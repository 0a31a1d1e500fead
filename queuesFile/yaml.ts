import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import { pointerTo } from '../routes/http/json/pointer.ts';
import { RawJson } from '../src/job.ts';
import { FileError, type Problem } from './problem.ts';

/** A ConfigMap holds no more. */
export const MOST_BYTES = 2 ** 20;
/** In the file, and where anchors lead. */
const MOST_LEVELS = 100;
/** What a file may become when its anchors are followed: the lengths of its texts, and as much for each value. */
const MOST_EXPANDED = 2 ** 22;
const SIZE_OF_VALUE = 24;

/**
 * Nothing depends on what a parser believes: `yes` is a text, and `!!js/function` is refused. Duplicates are looked for
 * here: the parser compares each name with all others.
 */
const OPTIONS = {
  schema: 'core',
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  prettyErrors: false,
} as const;

type Path = readonly string[];

/** A value of YAML, and where it stands. */
export interface Yaml {
  value: unknown;
  /** The problem of what a path leads to, or of the nearest thing around it. */
  problem(path: Path, message: string): Problem;
}

interface Member {
  name: string;
  at: number;
  value: Node | null;
}

const MERGE = '<<';

const MAY_BE_JSON = /^([[{"\d-]|true$|false$|null$)/;

function isJson(text: string): boolean {
  if (!MAY_BE_JSON.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @throws FileError */
function decoded(bytes: Uint8Array): string {
  const whole = (message: string) => new FileError([{ line: 1, column: 1, message }]);
  if (bytes.length > MOST_BYTES) throw whole(`the file is larger than ${MOST_BYTES} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw whole('the file is not UTF-8');
  }
}

/** Makes plain values of the nodes of a document. */
class Reader {
  readonly problems: Problem[] = [];
  readonly #text: string;
  readonly #lines: LineCounter;
  readonly #isRaw: (path: Path) => boolean;
  /** What each alias stands for. */
  readonly #targets = new Map<unknown, Node>();
  /** Where the members of a value stand. */
  readonly #places = new Map<unknown, Map<string, number>>();
  #size = 0;

  constructor(text: string, lines: LineCounter, isRaw: (path: Path) => boolean) {
    this.#text = text;
    this.#lines = lines;
    this.#isRaw = isRaw;
  }

  problemAt(at: number, message: string): Problem {
    const { line, col } = this.#lines.linePos(at);
    return { line: Math.max(1, line), column: Math.max(1, col), message };
  }

  where(root: unknown, path: Path): number {
    let at = 0;
    let value = root;
    for (const name of path) {
      const place = this.#places.get(value)?.get(name);
      if (place === undefined) break;
      at = place;
      value = (value as Record<string, unknown>)[name];
    }
    return at;
  }

  /** An alias means the last anchor of its name before it. In one pass: to look for each alone takes too long. */
  findTargets(root: Node): void {
    const anchors = new Map<string, Node>();
    visit(root, {
      Alias: (_, alias) => {
        const target = anchors.get(alias.source);
        if (target) this.#targets.set(alias, target);
        else
          this.problems.push(
            this.problemAt(alias.range?.[0] ?? 0, `*${alias.source} has no anchor before it`),
          );
      },
      Value: (_, node) => {
        if (node.anchor !== undefined) anchors.set(node.anchor, node as Node);
      },
    });
  }

  value(node: Node | null, path: Path): unknown {
    const real = this.#followed(node, path.length);
    if (this.#isRaw(path)) return new RawJson(this.#json(real, path.length));
    if (isMap(real)) {
      const places = new Map<string, number>();
      const value: Record<string, unknown> = Object.create(null);
      for (const { name, at, value: inner } of this.#members(real, path.length)) {
        places.set(name, at);
        value[name] = this.value(inner, [...path, name]);
      }
      this.#places.set(value, places);
      return value;
    }
    if (isSeq(real)) {
      const places = new Map(
        real.items.map((item, i) => [String(i), (item as Node | null)?.range?.[0] ?? 0]),
      );
      const value = real.items.map((item, i) => this.value(item as Node | null, [...path, String(i)]));
      this.#places.set(value, places);
      return value;
    }
    return isScalar(real) ? real.value : null;
  }

  /** What a node stands for. It costs a part of what the file may become. @throws FileError */
  #followed(node: Node | null, depth: number): Node | null {
    const real = isAlias(node) ? (this.#targets.get(node) ?? null) : node;
    const at = node?.range?.[0] ?? 0;
    if (depth > MOST_LEVELS)
      throw new FileError([
        this.problemAt(at, `it nests more than ${MOST_LEVELS} levels deep, or in itself`),
      ]);
    this.#take(isScalar(real) ? (real.source?.length ?? 0) : 0, at);
    return real;
  }

  #take(length: number, at: number): void {
    this.#size += SIZE_OF_VALUE + length;
    if (this.#size > MOST_EXPANDED)
      throw new FileError([this.problemAt(at, 'the file becomes too large when its anchors are followed')]);
  }

  /** The members of a map. Those that it merges (`<<: *defaults`) come behind its own, and yield to them. */
  #members(map: YAMLMap, depth: number): Member[] {
    const found = new Map<string, Member>();
    const merged: Member[] = [];
    for (const { key, value } of map.items) {
      if (!isScalar(key)) continue;
      const at = key.range?.[0] ?? 0;
      const name = String(key.value);
      if (name === MERGE && key.type === 'PLAIN')
        merged.push(...this.#merged(value as Node | null, depth + 1, at));
      else if (found.has(name)) {
        const { line } = this.problemAt(found.get(name)?.at ?? 0, '');
        this.problems.push(
          this.problemAt(at, `${JSON.stringify(name)} is there twice: in line ${line}, too`),
        );
      } else found.set(name, { name, at, value: value as Node | null });
    }
    for (const member of merged) if (!found.has(member.name)) found.set(member.name, member);
    return [...found.values()];
  }

  #merged(node: Node | null, depth: number, at: number): Member[] {
    const real = this.#followed(node, depth);
    if (isMap(real)) return this.#members(real, depth);
    if (isSeq(real)) return real.items.flatMap((item) => this.#merged(item as Node, depth + 1, at));
    this.problems.push(this.problemAt(at, `${MERGE} takes a map, or a list of maps`));
    return [];
  }

  /** The JSON text of a value. What is written as JSON stays as it is, with every digit. */
  #json(node: Node | null, depth: number): string {
    const [from, to] = node?.range ?? [0, 0];
    const written = this.#text.slice(from, to);
    if (isJson(written)) {
      this.#take(written.length, from);
      return written;
    }
    const inner = (value: unknown) => this.#json(this.#followed(value as Node | null, depth + 1), depth + 1);
    if (isMap(node)) {
      const members = this.#members(node, depth).map(
        ({ name, value }) => `${JSON.stringify(name)}:${inner(value)}`,
      );
      return `{${members.join(',')}}`;
    }
    if (isSeq(node)) return `[${node.items.map(inner).join(',')}]`;
    const value = isScalar(node) ? node.value : null;
    if (typeof value === 'number' && !Number.isFinite(value))
      this.problems.push(this.problemAt(from, `${written} is no number of JSON`));
    return JSON.stringify(value);
  }
}

/**
 * Reads a file. The values that `isRaw` names become JSON texts.
 * @throws FileError
 */
export function readYaml(bytes: Uint8Array, isRaw: (path: Path) => boolean): Yaml {
  const text = decoded(bytes);
  const lines = new LineCounter();
  const document = parseDocument(text, { ...OPTIONS, lineCounter: lines });
  const reader = new Reader(text, lines, isRaw);
  const wrong = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  for (const { code, message, pos } of wrong) {
    // The parser calls itself for each level.
    const why = code === 'RESOURCE_EXHAUSTION' ? 'it nests too deep' : message.replace(/;.*/s, '');
    reader.problems.push(reader.problemAt(pos[0], why));
  }
  if (reader.problems.length > 0) throw new FileError(reader.problems);
  const root = document.contents as Node | null;
  if (root) reader.findTargets(root);
  const value = reader.value(root, []);
  if (reader.problems.length > 0) throw new FileError(reader.problems);
  return {
    value,
    problem: (path, message) =>
      reader.problemAt(reader.where(value, path), `${pointerTo(...path) || 'the file'} ${message}`),
  };
}
