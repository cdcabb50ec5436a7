// The decisions, in the order of their numbers.
import { decisions, placeOf, titleOf } from './pages.mjs'

export default {
  load() {
    return decisions.map((file) => ({ link: '/' + placeOf(file).replace(/md$/, 'html'), title: titleOf(file) }))
  }
}
