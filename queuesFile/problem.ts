/** Something that is wrong with a file, and where. Lines and columns count from 1. */
export interface Problem {
  line: number;
  column: number;
  message: string;
}

/** More are not told: they most often have one cause. */
const MOST_TOLD = 20;

const inWords = ({ line, column, message }: Problem) => `line ${line}, column ${column}: ${message}`;

/** A file that cannot be read. Nothing was done. */
export class FileError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    const told = problems.slice(0, MOST_TOLD).map(inWords);
    const more = problems.length > MOST_TOLD ? [`and ${problems.length - MOST_TOLD} more`] : [];
    super([...told, ...more].join('\n'));
    this.problems = problems;
  }
}
