/** A line as a shell would split it: blanks part words, quotes keep them together. */
export function split(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (const letter of line) {
    if (quote !== '') {
      if (letter === quote) quote = '';
      else word += letter;
    } else if (letter === '"' || letter === "'") {
      quote = letter;
      word ??= '';
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + letter;
    }
  }
  if (quote !== '') throw new Error(`A ${quote} is not closed.`);
  if (word !== null) words.push(word);
  return words;
}
