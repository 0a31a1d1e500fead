import { PassThrough } from 'node:stream';
import type { App } from './http/connection/fastify.ts';
import { takeWait } from './http/connection/memory.ts';
import { onHangup } from './http/connection/taken.ts';
import { operation } from './http/openapi/operation.ts';
import { ref } from './schemas/common.ts';
import { SessionLine, SessionRequest } from './schemas/session.ts';

const NDJSON = 'application/x-ndjson';

/** The client hears something this often. */
const LINE_MS = 3000;

export function sessionRoutes(app: App): void {
  app.route({
    method: 'POST',
    url: '/sessions',
    config: { verb: 'holdSession', optionalBody: true },
    schema: {
      body: ref(SessionRequest),
      ...operation({
        operationId: 'holdSession',
        tags: ['Sessions'],
        summary: 'Hold a session: leases that end when this connection is lost',
        description:
          'The answer does not end: read it line by line, for as long as you work. Each line is a JSON object, and there is one every 3 s. ' +
          'A claim with `session` ties its leases to it. When this connection is lost, and nobody resumes the session within ' +
          '`resume_seconds`, its leases end as if they had run out, in all databases.',
        answers: {
          200: {
            description: 'The lines, until the connection holds the session no longer.',
            content: { [NDJSON]: { schema: ref(SessionLine) } },
          },
        },
        refusals: ['session_not_found', 'too_many_sessions', 'overloaded'],
      }),
    },
    handler: async (request, reply) => {
      takeWait(request);
      const { session, resume_seconds, lost } = await request.verbs.holdSession({
        ...request.body,
        onHangup: (gone) => onHangup(request, gone),
      });
      const forget = app.closeUnanswered(request.raw.socket);
      const lines = new PassThrough();
      const write = (line: object) => lines.write(`${JSON.stringify(line)}\n`);
      write({ session, resume_seconds });
      const timer = setInterval(() => write({}), LINE_MS);
      void lost.then((why) => {
        clearInterval(timer);
        forget();
        if (why !== 'hung_up') write({ lost: why });
        lines.end();
      });
      // Else some proxies would keep the lines back.
      return reply.type(NDJSON).header('x-accel-buffering', 'no').send(lines);
    },
  });
}
