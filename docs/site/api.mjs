// Puts the pages of the API into the built site, from the folder of a staged release: npm run api -- ../../target/staging
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('dist', import.meta.url))
const staging = resolve(process.argv[2] ?? '../../target/staging')
const suffix = '-javadoc.jar'

const jars = existsSync(staging)
  ? readdirSync(staging, { recursive: true }).filter((file) => file.endsWith(suffix)).sort()
  : []
if (jars.length === 0 || !existsSync(dist)) {
  console.error(`There must be a built site in ${dist}, and a staged release in ${staging}`)
  process.exit(1)
}

rmSync(`${dist}/api`, { recursive: true, force: true })
const modules = jars.map((jar) => {
  const module = basename(jar, suffix)
  const folder = `${dist}/api/${module}`
  mkdirSync(folder, { recursive: true })
  execFileSync('jar', ['--extract', '--file', `${staging}/${jar}`], { cwd: folder })
  return module
})

const items = modules.map((module) => `<li><a href="${module}/index.html">${module}</a></li>`).join('\n')
writeFileSync(
  `${dist}/api/index.html`,
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Holdfast: API</title>
<h1>Holdfast: API</h1>
<ul>
${items}
</ul>
<p><a href="../index.html">Documentation</a></p>
</html>
`
)
console.log(`${modules.length} modules in ${dist}/api`)
