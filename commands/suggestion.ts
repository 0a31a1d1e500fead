import { Command, CommanderError } from 'commander';

/** What Commander says of a word that it does not know: ", did you mean --queue?", or nothing where none is like it. */
export function suggestion(word: string, known: string[]): string {
  const silent = { writeErr: () => undefined };
  const program = new Command().exitOverride().configureOutput(silent).helpCommand(false).helpOption(false);
  for (const name of new Set(known)) {
    if (name.startsWith('--')) program.option(name);
    else program.command(name);
  }
  try {
    program.parse([word], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return withSuggestion(error.message).replace(/^[^,]*/, '');
    throw error;
  }
  return '';
}

/** Commander's message with its suggestion in the same line. Too many arguments are most often one that was not quoted. */
export const withSuggestion = (message: string): string =>
  message
    .replace(/\n\(Did you mean (.*)\?\)/s, ', did you mean $1?')
    .replace(/(too many arguments.*)$/m, '$1 An argument with spaces must be in quotes.');
