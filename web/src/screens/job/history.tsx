import { duration, local } from '../../format.ts';
import type { HistoryEvent } from '../../types.ts';
import { BatchLink, Column, Empty, Table, When } from '../../ui.tsx';

interface HistoryProps {
  events: HistoryEvent[] | undefined;
  /** Older events were dropped. */
  isTruncated: boolean;
}

/** How long the lease ran. */
const held = ({ at, leased_at }: HistoryEvent) =>
  at && leased_at ? duration((Date.parse(at) - Date.parse(leased_at)) / 1000) : '–';

export const History = ({ events, isTruncated }: HistoryProps) => (
  <section>
    <h2>History</h2>
    {isTruncated && <p class="quiet">Older events are no longer kept.</p>}
    {!events?.length && <Empty>No history is kept for this job.</Empty>}
    {events && events.length > 0 && (
      <Table
        label="History"
        head={
          <>
            <Column>When</Column>
            <Column>Event</Column>
            <Column isNumber>Attempt</Column>
            <Column>Worker or key</Column>
            <Column isNumber>Duration</Column>
            <Column>Details</Column>
          </>
        }
      >
        {events.map((event, i) => (
          // Events have no id, and only grow at the end.
          <tr key={i}>
            <td>
              {local(event.at)} <span class="quiet">{<When time={event.at} />}</span>
            </td>
            <td>{event.event.replaceAll('_', ' ')}</td>
            <td class="n">{event.attempt ?? '–'}</td>
            <td>
              {event.worker ?? event.by ?? '–'}{' '}
              {event.worker && event.by && <span class="quiet">key {event.by}</span>}
            </td>
            <td class="n">{held(event)}</td>
            <td class="error">
              {event.error && <div class="lines">{event.error}</div>}
              {event.batch && <div class="quiet">into its batch</div>}
              {event.follows && (
                <div class="quiet">
                  follows batch <BatchLink id={event.follows} />
                </div>
              )}
              {event.run_at && (
                <div class="quiet">
                  runs <When time={event.run_at} />
                </div>
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
  </section>
);
