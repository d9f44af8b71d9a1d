// Lists what the page works without. Each module adds its own controls and panels; see `page/parts.js`.

import "./facets/facets.js";
import "./feedback/feedback.js";
import "./why/why.js";
import "./synonyms/synonyms.js";
