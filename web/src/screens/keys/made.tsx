import { keyStore } from '../../api.ts';
import { Copy, Dialog } from '../../dialogs.tsx';
import type { MadeKey } from '../../types.ts';

/** A key is shown once. */
export const Made = ({ made, close }: { made: MadeKey; close: () => void }) => (
  <Dialog title={`Access key ${made.name}`} close={close}>
    <p>Copy it now: it is shown only once. Dibs stores only a hash of it.</p>
    {keyStore.get() === made.key && <p>This tab uses it from now on.</p>}
    <pre class="secret">{made.key}</pre>
    <footer>
      <Copy text={made.key} />
      <button type="button" class="main" onClick={close}>
        I have saved it
      </button>
    </footer>
  </Dialog>
);
