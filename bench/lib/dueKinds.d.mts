import type pg from 'pg';

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: it is the JSON of any answer.
  body: any;
}

export interface DueKind {
  make(where: {
    http: {
      post(path: string, body: object): Promise<Answer>;
      json(method: string, path: string, body: object): Promise<Answer>;
    };
    db: pg.Client;
    queue: string;
    at: Date;
  }): Promise<{ id: string; due: string }>;
  isDone: string;
}

export const DUE_KINDS: Record<string, DueKind>;
