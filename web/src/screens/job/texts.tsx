import { useMemo, useState } from 'preact/hooks';
import { Copy } from '../../dialogs.tsx';
import { bytes } from '../../format.ts';
import { prettyJson } from '../../json.ts';

/** More than this is shown only when asked for: a browser takes long to lay it out. */
const SHOWN = 100_000;

export function Text({ text, label }: { text: string; label: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > SHOWN;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse must be able to scroll it. */}
      <section tabIndex={0} aria-label={label} class="text">
        <pre>{isCut ? text.slice(0, SHOWN) : text}</pre>
      </section>
      {isCut && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all
        </button>
      )}
    </>
  );
}

/** A JSON text as it was sent, and beside it on many lines. */
export function Json({ text, title }: { text: string; title: string }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  return (
    <section class="json">
      <h2>
        {title} <span class="quiet">{bytes(text)}</span> <Copy text={text} />
      </h2>
      <div class="pair">
        <div>
          <h3>Raw</h3>
          <Text text={text} label={`${title}, raw`} />
        </div>
        <div>
          <h3>Formatted</h3>
          <Text text={pretty} label={`${title}, formatted`} />
        </div>
      </div>
    </section>
  );
}
