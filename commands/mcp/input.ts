import { Ajv, type ErrorObject } from 'ajv';
import type { TObject } from 'typebox';

/** What is wrong with a field, for whoever has to correct it. */
function inWords({ keyword, instancePath, params, message }: ErrorObject, known: string[]): string {
  const field = instancePath === '' ? '' : `${instancePath.slice(1)} `;
  if (keyword === 'required') return `${field}${params.missingProperty} is required`;
  if (keyword === 'additionalProperties')
    return `${field}${params.additionalProperty} is not known${field ? '' : `. It takes: ${known.join(', ') || 'nothing'}`}`;
  if (keyword === 'enum') return `${field}must be one of ${params.allowedValues.join(', ')}`;
  return `${field}${message}`;
}

/** Says of an input what is wrong with each field. The validator of the SDK does not name an unknown one. */
export function inputCheck(schema: TObject) {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
  const known = Object.keys(schema.properties);
  return {
    getValidator:
      <T>() =>
      (input: unknown) =>
        validate(input)
          ? { valid: true as const, data: input as T, errorMessage: undefined }
          : {
              valid: false as const,
              data: undefined,
              errorMessage: `${validate.errors?.map((error) => inWords(error, known)).join('; ')}.`,
            },
  };
}
