import { snake } from './model.mjs';

const line = (text) => text.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\\\').replaceAll('"', "'");

function typeOf(shape) {
  const text = plain(shape);
  return shape.nullable ? `${text} | None` : text;
}

function plain(shape) {
  switch (shape.kind) {
    case 'ref':
      return `"${shape.name}"`;
    case 'any':
      return 'Any';
    case 'string':
    case 'text':
      return 'str';
    case 'integer':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'enum':
      return `Literal[${shape.values.map((value) => `"${value}"`).join(', ')}]`;
    case 'array':
      return `list[${typeOf(shape.items)}]`;
    case 'map':
      return `dict[str, ${typeOf(shape.values)}]`;
    case 'none':
      return 'None';
    default:
      return 'dict[str, Any]';
  }
}

/** As an annotation: a name that may stand before its class is a string, so the whole is one. */
const annotation = (shape) => {
  const text = typeOf(shape);
  return text.includes('"') && !text.startsWith('Literal') ? `"${text.replaceAll('"', '')}"` : text;
};

function declared(type) {
  if (type.kind !== 'object') return `${type.name} = ${plain(type)}\n`;
  const fields = type.fields.map(({ name, required, shape }) => {
    const text = typeOf(shape).replaceAll(/"(\w+)"/g, (whole, word) => (/^[A-Z]/.test(word) ? word : whole));
    return `    ${name}: ${required ? text : `NotRequired[${text}]`}\n`;
  });
  // A class cannot have a field of this name.
  if (type.fields.some(({ name }) => name === 'in'))
    return `${type.name} = TypedDict(\n    "${type.name}",\n    {${type.fields
      .map(
        ({ name, required, shape }) =>
          `"${name}": ${required ? typeOf(shape) : `NotRequired[${typeOf(shape)}]`}`,
      )
      .join(', ')}},\n)\n`;
  return `class ${type.name}(TypedDict):
    """${line(type.description ?? type.name)}"""

${fields.join('')}`;
}

function methodOf({ id, summary, method, path, segments, query, headers, body, bodyRequired, answer }) {
  const given = [...query, ...headers];
  const parameters = [
    'self',
    ...segments.map(({ name, shape }) => `${name}: ${annotation(shape)}`),
    ...(body ? [`body: ${bodyRequired ? annotation(body) : `"${body.name} | None" = None`}`] : []),
    '*',
    ...given.map(
      ({ name, shape }) => `${snake(name)}: "${typeOf(shape).replaceAll('"', "'")} | None" = None`,
    ),
    'timeout: float | None = None',
  ];
  const dict = (list) => `{${list.map((one) => `"${one.name}": ${snake(one.name)}`).join(', ')}}`;
  const url = path.replaceAll(/\{(\w+)\}/g, '{quote($1, safe="")}');
  const call = [
    `"${method}"`,
    `${segments.length > 0 ? 'f' : ''}${segments.length > 0 ? `'${url}'` : `"${url}"`}`,
    ...(body ? [bodyRequired ? 'body' : 'body or {}'] : []),
    ...(query.length > 0 ? [`query=${dict(query)}`] : []),
    ...(headers.length > 0 ? [`headers=${dict(headers)}`] : []),
    'timeout=timeout',
  ];
  return `    def ${snake(id)}(
        ${parameters.join(',\n        ')},
    ) -> ${annotation(answer)}:
        """${line(summary)}."""
        return self.request(
            ${call.join(',\n            ')},
        )
`;
}

/** Types that others are made of come first where they are no classes: aliases are looked up at once. */
export const pythonOf = ({
  types,
  operations,
}) => `# Generated from openapi/openapi.json by \`npm run generate\`. Do not edit.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import quote

${types
  .filter((type) => type.kind !== 'object')
  .map(declared)
  .join('')}

${types
  .filter((type) => type.kind === 'object')
  .map(declared)
  .join('\n\n')}

class Operations:
    """Every operation of Dibs. \`request\` sends it."""

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        raise NotImplementedError

${operations.map(methodOf).join('\n')}`;
