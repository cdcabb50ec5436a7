// Links of the Markdown files stay as they are for the code host. On the site, those to other pages lead there, and those to sources
// lead to the code host.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { pages, placeOf, root } from './pages.mjs'

const codeHost =
  /<scm>.*?<url>(https:[^<]*)<\/url>/s.exec(readFileSync(root + 'pom.xml', 'utf8'))?.[1] ??
  'https://github.com/holdfast/holdfast'

/** What a link of a page becomes on the site. */
export function target(file, link) {
  if (/^([a-z]+:|#)/.test(link)) {
    return link
  }
  const [path, fragment] = link.split('#')
  const meant = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  if (!existsSync(root + meant)) {
    throw new Error(`${file}: no file for the link ${link}`)
  }
  const end = fragment ? '#' + fragment : ''
  if (meant === 'docs/adr') {
    return '/adr/index.md' + end
  }
  if (pages.includes(meant)) {
    return '/' + placeOf(meant) + end
  }
  const kind = statSync(root + meant).isDirectory() ? 'tree' : 'blob'
  return `${codeHost}/${kind}/main/${meant}${end}`
}

/** A plugin of markdown-it. */
export function siteLinks(md) {
  md.core.ruler.push('site-links', ({ tokens, env }) => {
    const file = sourceOf(env)
    for (const token of tokens) {
      if (token.type === 'html_block') {
        token.content = imagesFromHere(token.content)
      }
      for (const child of token.children ?? []) {
        const href = child.type === 'link_open' && child.attrGet('href')
        if (href) {
          child.attrSet('href', target(file, href))
        } else if (child.type === 'html_inline') {
          child.content = imagesFromHere(child.content)
        }
      }
    }
  })
}

function sourceOf({ path, realPath }) {
  return (realPath ?? path).replaceAll('\\', '/').slice(root.length)
}

/** A plugin of markdown-it: text is text, and never an expression of a template. */
export function plainText(md) {
  const { text, code_inline: code } = md.renderer.rules
  md.renderer.rules.text = (...written) => text(...written).replaceAll('{{', '&#123;&#123;')
  md.renderer.rules.code_inline = (...written) => code(...written).replace('<code', '<code v-pre')
}

/** The bundler takes only paths that begin with a dot for files. */
function imagesFromHere(html) {
  return html.replace(/(<img [^>]*src=")(?![a-z]+:|[./])/g, '$1./')
}
