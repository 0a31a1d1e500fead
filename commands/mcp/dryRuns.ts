import type { Caller } from '../../clients/typescript/src/caller.ts';
import { mayBeDone } from '../../clients/typescript/src/errors.ts';
import {
  getOperation,
  type Operation,
  type OperationRequest,
  startOperation,
} from '../../clients/typescript/src/generated.ts';
import { UsageError } from '../usage.ts';

/** A session remembers the last dry runs only. */
const MOST = 100;

/** The dry runs of a session that were not run yet. Each is run once. */
export class DryRuns {
  readonly #requests = new Map<string, OperationRequest>();

  async count(client: Caller, request: OperationRequest): Promise<Operation> {
    const counting = await startOperation(client, { ...request, dry_run: true });
    this.#remember(counting.id, request);
    return counting;
  }

  async run(client: Caller, id: string): Promise<Operation> {
    const request = this.#take(id);
    let isAsked = false;
    try {
      const { state } = await getOperation(client, id);
      if (state !== 'done')
        throw new UsageError(`The dry run "${id}" is ${state}. It must be done before it is run.`);
      isAsked = true;
      return await startOperation(client, { ...request, dry_run: false });
    } catch (error) {
      // After a lost answer it may have been started: it is not started twice.
      if (!isAsked || !mayBeDone(error)) this.#remember(id, request);
      throw error;
    }
  }

  #remember(id: string, request: OperationRequest): void {
    this.#requests.set(id, request);
    const [oldest] = this.#requests.keys();
    if (oldest !== undefined && this.#requests.size > MOST) this.#requests.delete(oldest);
  }

  /** A second call finds nothing. */
  #take(id: string): OperationRequest {
    const request = this.#requests.get(id);
    if (!request)
      throw new UsageError(
        `There is no dry run "${id}" in this session that was not run yet. Call dry_run_operation first.`,
      );
    this.#requests.delete(id);
    return request;
  }
}
