// Takes pictures of the built site in a browser, as wide as a phone and as a desktop. Fails if a page is wider than the screen, has a
// picture that is not shown, if a column of meanings is off a desktop's screen, or if the search finds nothing.
import { createReadStream, existsSync, mkdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import puppeteer from 'puppeteer-core'

const dist = fileURLToPath(new URL('dist', import.meta.url))
const pictures = fileURLToPath(new URL('pictures', import.meta.url))
const base = process.env.SITE_BASE ?? '/'
const widths = { phone: 390, desktop: 1280 }
const pages = [
  'index', 'overview', 'start/getting-started-in-ten-minutes', 'start/getting-started', 'understand/guarantees',
  'operate/configuration', 'operate/operations', 'operate/runbooks', 'operate/observability', 'choose/comparison',
  'adr/index'
]
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.woff2': 'font/woff2' }

mkdirSync(pictures, { recursive: true })
const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
  const file = dist + normalize('/' + path.slice(base.length))
  if (!path.startsWith(base) || !existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
  createReadStream(file).pipe(response)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const site = `http://127.0.0.1:${server.address().port}${base}`

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : []
})
const problems = []
try {
  for (const [device, width] of Object.entries(widths)) {
    await look(device, width)
  }
} finally {
  await browser.close()
  server.close()
}
problems.forEach((problem) => console.error(problem))
process.exitCode = problems.length > 0 ? 1 : 0

async function look(device, width) {
  const tab = await browser.newPage()
  tab.on('requestfailed', (request) => problems.push(`${device}: ${request.url()}: ${request.failure()?.errorText}`))
  tab.on('response', (response) => response.status() >= 400 && problems.push(`${device}: ${response.url()}: ${response.status()}`))
  tab.on('request', (request) => request.url().startsWith('http') && !request.url().startsWith(site) && problems.push(`${device}: asks ${request.url()}`))
  await tab.setViewport({ width, height: 844, isMobile: device === 'phone', hasTouch: device === 'phone' })
  for (const page of pages.filter((name) => existsSync(`${dist}/${name}.html`))) {
    await tab.goto(`${site}${page}.html`, { waitUntil: 'networkidle0' })
    const seen = await tab.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      missing: [...document.images].filter((image) => image.complete && image.naturalWidth === 0).map((image) => image.src),
      offScreen: [...document.querySelectorAll('th')]
        .filter((column) => column.textContent.trim() === 'Meaning')
        .filter((column) => column.getBoundingClientRect().right > column.closest('table').getBoundingClientRect().right + 1).length
    }))
    if (seen.width > width) {
      problems.push(`${device}: ${page} is ${seen.width} pixels wide`)
    }
    if (device === 'desktop' && seen.offScreen > 0) {
      problems.push(`${device}: ${page} has ${seen.offScreen} columns of meanings off the screen`)
    }
    seen.missing.forEach((image) => problems.push(`${device}: ${page} does not show ${image}`))
    await tab.screenshot({ path: `${pictures}/${device}-${page.replace('/', '-')}.png`, fullPage: process.argv.includes('--whole') })
  }
  await search(tab, device)
  await tab.close()
}

async function search(tab, device) {
  await tab.goto(`${site}index.html`, { waitUntil: 'networkidle0' })
  await tab.$eval('#local-search button', (button) => button.click())
  await tab.waitForSelector('.VPLocalSearchBox input')
  await tab.type('.VPLocalSearchBox input', 'clock tolerance')
  try {
    await tab.waitForSelector('.VPLocalSearchBox .result', { timeout: 10_000 })
  } catch {
    problems.push(`${device}: the search finds nothing`)
  }
  await tab.screenshot({ path: `${pictures}/${device}-search.png` })
}
