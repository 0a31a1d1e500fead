import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Asked, curlOf, Problem, send } from './api.ts';
import { type Children, Field, ProblemBox } from './ui.tsx';

/** Where the keyboard begins: at the first field, or else at a button that changes nothing. */
const FIRST = [
  'input:enabled, select:enabled, textarea:enabled',
  'footer button:not(.small, .main, .grave)',
  'footer button',
];

/** A modal. Escape closes it. */
export function Dialog({ title, close, children }: { title: string; close: () => void } & Children) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    const first = FIRST.map((what) => dialog?.querySelector<HTMLElement>(what)).find(Boolean);
    first?.focus();
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onClose={close}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** Runs something that may be refused, once at a time, and keeps why. */
export function useAct() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  async function act(work: () => Promise<unknown>): Promise<boolean> {
    if (isBusy) return false;
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, 'bug', String(error)));
      return false;
    } finally {
      setBusy(false);
    }
  }
  return { act, isBusy, problem, setProblem };
}

/** Puts a text into the clipboard. Where the browser has none (http from afar), it shows the text instead. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const [isShown, setShown] = useState(false);
  return (
    <>
      <button
        type="button"
        class="small"
        onClick={async () => {
          try {
            await navigator.clipboard.writeText(text);
            setCopied(true);
            setTimeout(() => setCopied(false), 1500);
          } catch {
            setShown(true);
          }
        }}
      >
        {isCopied ? 'Copied' : label}
      </button>
      {isShown && <pre class="copied">{text}</pre>}
    </>
  );
}

/** What the dialog is about to send, for a shell. */
export const AsCurl = ({ of }: { of: Asked[] }) => (
  <Copy text={of.map(curlOf).join('\n')} label="Copy as curl" />
);

interface Asks<T> {
  title: string;
  says: ComponentChildren;
  verb: string;
  /** This text must be typed in first. */
  typed?: string;
  /** False while something has to be chosen first. */
  isChosen?: boolean;
  isGrave?: boolean;
  asks: Asked;
  /** Sends it in another way than `send`. */
  by?: (asks: Asked) => Promise<T>;
  done: (answer: T) => void;
  close: () => void;
  children?: ComponentChildren;
}

/** Asks before a request is sent. */
export function Confirm<T = unknown>(props: Asks<T>) {
  const { title, says, verb, typed, isChosen = true, isGrave, asks, done, close, children } = props;
  const { by = async (asked: Asked) => (await send<T>(asked)).body } = props;
  const [text, setText] = useState('');
  const { act, isBusy, problem } = useAct();
  const isReady = isChosen && (typed === undefined || text === typed);
  return (
    <Dialog title={title} close={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          let answer: T | undefined;
          const work = async () => {
            answer = await by(asks);
          };
          if (isReady && (await act(work))) done(answer as T);
        }}
      >
        <div class="says">{says}</div>
        {children}
        {typed !== undefined && (
          <Field label={`Type ${typed} to confirm`}>
            <input
              value={text}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </Field>
        )}
        <ProblemBox problem={problem} />
        <footer>
          {isChosen && <AsCurl of={[asks]} />}
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" class={isGrave ? 'grave' : 'main'} disabled={!isReady || isBusy}>
            {isBusy ? 'Working…' : verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A button for one request without a question. */
export function Do({ asks, done, children }: { asks: Asked; done: () => void } & Children) {
  const { act, isBusy, problem } = useAct();
  return (
    <span class="do">
      <button
        type="button"
        disabled={isBusy}
        onClick={async () => {
          if (await act(() => send(asks))) done();
        }}
      >
        {children}
      </button>
      <Copy text={curlOf(asks)} label="curl" />
      <ProblemBox problem={problem} />
    </span>
  );
}
