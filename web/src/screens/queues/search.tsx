import { useEffect, useState } from 'preact/hooks';
import { link, replace } from '../../route.ts';
import { useTyping } from '../../typing.ts';

const showNamed = (name: string) => replace(link([], { name }));

/** Searches as one types. */
export function QueueSearch({ contains }: { contains: string }) {
  const [typed, setTyped] = useState(contains);
  const { whenTyped, stopTyping } = useTyping();
  useEffect(() => setTyped(contains), [contains]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        stopTyping();
        showNamed(typed);
      }}
    >
      <input
        data-search
        type="search"
        aria-label="Part of a queue's name"
        placeholder="Search queues ( / )"
        value={typed}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          whenTyped(() => showNamed(value));
        }}
      />
    </form>
  );
}
