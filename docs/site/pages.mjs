// Which Markdown files are pages, where they are on the site, and in which order.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository; the names of files are relative to it. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

const groups = JSON.parse(read('docs/site/navigation.json'))

function read(file) {
  return readFileSync(root + file, 'utf8')
}

function markdown(folder) {
  return readdirSync(root + folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
    .sort()
}

/** The pages of docs and of its folders, such as docs/start; the decisions are not among them. */
function documents() {
  const folders = readdirSync(root + 'docs', { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['adr', 'site'].includes(entry.name))
    .map(({ name }) => `docs/${name}`)
  return ['docs', ...folders].flatMap(markdown)
}

/** The files that an entry of the navigation means: a `*` stands for any text. */
function matching(entry) {
  if (!entry.includes('*')) {
    return existsSync(root + entry) ? [entry] : []
  }
  const [start, end] = entry.split('*')
  return documents().filter((file) => file.startsWith(start) && file.endsWith(end))
}

/** The groups of pages that exist, each page once, where it comes first. Throws if a page of docs is in no group. */
export function navigation() {
  const seen = new Set()
  const found = groups.map(({ group, pages }) => ({
    group,
    pages: pages.flatMap(matching).filter((file) => !seen.has(file) && seen.add(file))
  }))
  const missing = documents().filter((file) => !seen.has(file))
  if (missing.length > 0) {
    throw new Error(`Add to docs/site/navigation.json: ${missing.join(', ')}`)
  }
  return found.filter(({ pages }) => pages.length > 0)
}

export const decisions = markdown('docs/adr')

const landing = 'docs/site/landing.md'

/** All pages, by file. */
export const pages = [landing, ...navigation().flatMap((group) => group.pages), ...decisions]

/** Where a page is on the site, with the ending `.md`. */
export function placeOf(file) {
  switch (file) {
    case landing:
      return 'index.md'
    case 'README.md':
      return 'overview.md'
    case 'CHANGELOG.md':
      return 'changes.md'
    case 'docs/site/decisions.md':
      return 'adr/index.md'
    default:
      return file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase().replaceAll('_', '-')
  }
}

/** The first heading of a page, without its marks. */
export function titleOf(file) {
  const heading = /^# (.*)$/m.exec(read(file))
  if (!heading) {
    throw new Error(`${file} has no heading`)
  }
  return heading[1].replaceAll('`', '')
}
