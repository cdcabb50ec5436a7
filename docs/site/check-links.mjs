// Fails if a page of the built site links to a file or an anchor of the site that does not exist.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { posix } from 'node:path'

const base = process.env.SITE_BASE ?? '/'
const dist = fileURLToPath(new URL('dist', import.meta.url))

const files = readdirSync(dist, { recursive: true }).map((file) => file.replaceAll('\\', '/'))
const pages = new Map(
  files.filter((file) => file.endsWith('.html')).map((file) => [file, readFileSync(`${dist}/${file}`, 'utf8')])
)
const anchors = new Map([...pages].map(([file, html]) => [file, new Set(values(html, 'id'))]))

function values(html, ...attributes) {
  const written = new RegExp(`\\s(?:${attributes.join('|')})="([^"]*)"`, 'g')
  return [...html.matchAll(written)].map((match) => match[1].replaceAll('&amp;', '&'))
}

/** What is wrong with a link of a page; undefined if nothing is. */
function problem(page, link) {
  const [path, fragment] = link.split('#').map(decodeURIComponent)
  let meant = page
  if (path.startsWith('/')) {
    if (!path.startsWith(base)) {
      return 'leads out of the site'
    }
    meant = path.slice(base.length)
  } else if (path) {
    meant = posix.join(posix.dirname(page), path)
  }
  if (meant === '' || meant.endsWith('/')) {
    meant += 'index.html'
  }
  if (!existsSync(`${dist}/${meant}`) || statSync(`${dist}/${meant}`).isDirectory()) {
    return 'no such file'
  }
  return fragment && pages.has(meant) && !anchors.get(meant).has(fragment) ? 'no such anchor' : undefined
}

let links = 0
const broken = new Set()
for (const [page, html] of pages) {
  for (const link of values(html, 'href', 'src').filter((link) => !/^([a-z]+:|\/\/)/.test(link))) {
    links++
    const why = problem(page, link)
    if (why) {
      broken.add(`${page}: ${link}: ${why}`)
    }
  }
}
broken.forEach((line) => console.error(line))
console.log(`${pages.size} pages, ${links} links, ${broken.size} broken`)
if (broken.size > 0 || links === 0) {
  process.exit(1)
}
