import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { plainText, siteLinks, target } from '../markdown.mjs'
import { decisions, navigation, pages, placeOf, root, titleOf } from '../pages.mjs'

/** The one of the console. */
const icon = readFileSync(root + 'spring/lock-console/src/main/resources/io/github/holdfast/console/console.svg').toString('base64')

const here = fileURLToPath(new URL('config.mjs', import.meta.url))

/** The pages are beside the folder that contains the packages: what they import is looked for as if they were in it. */
const packagesOfTheSite = {
  name: 'packages-of-the-site',
  enforce: 'pre',
  resolveId(source, importer, options) {
    return /^vue(\/|$)/.test(source) && importer?.includes('.md')
      ? this.resolve(source, here, { ...options, skipSelf: true })
      : undefined
  }
}

const item = (file) => ({ text: file === 'README.md' ? 'Overview' : titleOf(file), link: '/' + placeOf(file) })

export default defineConfig({
  title: 'Holdfast',
  description: 'Distributed locks for Java applications, in the database that they already have',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml;base64,${icon}` }]],
  base: process.env.SITE_BASE ?? '/',

  srcDir: '../..',
  outDir: './dist',
  cacheDir: './.vitepress/cache',
  // Only the pages of the navigation, and never what a build leaves beside them.
  srcExclude: ['**/target/**', '**/node_modules/**', '**/src/**', '.*/**', 'docs/site/README.md', '*/README.md', '*/*/README.md'],
  rewrites: Object.fromEntries(pages.map((file) => [file, placeOf(file)])),

  // The links of the landing page are written like those of all pages.
  transformPageData({ filePath, frontmatter }) {
    const { hero } = frontmatter
    const actions = hero?.actions.map((action) => ({ ...action, link: target(filePath, action.link) }))
    return hero && { frontmatter: { ...frontmatter, hero: { ...hero, actions } } }
  },

  vite: {
    plugins: [packagesOfTheSite],
    build: { chunkSizeWarningLimit: 2000 }
  },
  markdown: {
    // The same anchors as on the code host.
    anchor: { slugify: slug },
    config: (md) => md.use(siteLinks).use(plainText)
  },

  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/start/getting-started.md' },
      { text: 'Guarantees', link: '/understand/guarantees.md' },
      { text: 'Operations', link: '/operate/operations.md' },
      { text: 'Decisions', link: '/adr/' }
    ],
    sidebar: {
      '/adr/': [
        { text: 'All pages', link: '/' + placeOf('README.md') },
        { text: 'Decisions', items: decisions.map(item) }
      ],
      '/': navigation().map(({ group, pages }) => ({ text: group, items: pages.map(item) }))
    },
    outline: [2, 3],
    search: { provider: 'local', options: { detailedView: true } },
    docFooter: { prev: 'Previous', next: 'Next' }
  }
})
