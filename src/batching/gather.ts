import { askers } from '../askers.ts';
import type { Call } from '../postgres/pipeline.ts';
import type { Statement } from '../postgres/statements.ts';
import type { Along, RoundTrip } from './roundTrip.ts';
import type { TripCall } from './tripCalls.ts';

/** Gathers the first statement of each verb for one round trip, until it is closed. Later statements go `alone`. */
export function gather(number: number, alone: RoundTrip) {
  const calls: TripCall[] = [];
  let closed = false;

  /** The round trip for one verb. */
  function tripOf(order: number): RoundTrip {
    let isFirst = false;
    const gathered: (() => void)[] = [];

    const trip: RoundTrip = {
      number,
      beside: (order) => (trip.number === undefined ? alone : tripOf(order)),
      answerFirst() {
        isFirst = true;
      },
      onceGathered(then) {
        gathered.push(then);
      },
      leave() {
        trip.number = undefined;
        return alone;
      },
      db: {
        query<Parameters extends object, Row>(
          statement: Statement<Parameters, Row>,
          parameters?: Parameters,
          along: Along<Row> = {},
        ) {
          if (closed || statement.name === undefined)
            return trip.leave().db.query(statement, parameters, along);
          for (const then of gathered.splice(0)) then();
          return new Promise<Row[]>((resolve, reject) =>
            calls.push({
              order,
              isFirst,
              statement: statement as Call['statement'],
              askers: askers(),
              parameters: parameters ?? {},
              along,
              resolve: resolve as TripCall['resolve'],
              reject,
            }),
          );
        },
      },
    };
    return trip;
  }

  return {
    tripOf,

    /** The statements, in the order in which they run. */
    close(): TripCall[] {
      closed = true;
      return calls.sort((a, b) => a.order - b.order);
    },
  };
}
