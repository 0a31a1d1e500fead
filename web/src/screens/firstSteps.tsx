import type { ComponentChildren } from 'preact';
import { curlOf, keyStore } from '../api.ts';
import { Copy } from '../dialogs.tsx';

/** What to do where there is nothing yet: the three requests of a job's life, and a worker. */
export function FirstSteps({ queue, children }: { queue: string; children: ComponentChildren }) {
  const url = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const key = keyStore.get() === undefined ? '' : 'DIBS_KEY="$DIBS_KEY" ';
  const post = (path: string, body: object) => curlOf({ method: 'POST', path, body });
  const steps: [string, string][] = [
    ['Enqueue a job', post('jobs', { queue, payload: { to: 'ada@example.com' } })],
    ['Claim it', post('jobs/claim', { queues: [queue], wait_seconds: 10 })],
    ['Ack it, with the ID and the lease token from the claim', post('jobs/ID/ack', { lease_token: 'TOKEN' })],
    ['Or run a worker: your command gets each payload', `DIBS_URL=${url} ${key}dibs work ${queue} -- cat`],
  ];
  return (
    <section class="empty" aria-label="First steps">
      <p>{children}</p>
      <ol>
        {steps.map(([says, command]) => (
          <li key={says}>
            {says} <Copy text={command} />
            <pre>{command}</pre>
          </li>
        ))}
      </ol>
    </section>
  );
}
