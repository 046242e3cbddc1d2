// "extends": a machine described by what differs from one in the catalog.
#pragma once

#include "base/json.h"

namespace shardplan {

// `document` laid over the catalog machine that its "extends" names; unchanged when it has none. Objects merge key by
// key and null removes a key, but what has a "source" (a number, a row of coefficients, the fabric) is replaced whole,
// so that no number keeps the source of another. Rows of coefficients that stay get the source
// "taken from <machine>: ...". Name, aliases, title and note are not inherited. InputError for an unknown
// name or a chain of more than four.
[[nodiscard]] Json extend_profile(const Json& document, const std::string& where);

// `machine` in another network: the "fabric" and "node" of the document `network` laid over it by the same rules, its
// own "extends" followed first. InputError for any other key, or for neither.
[[nodiscard]] Json with_network(const Json& machine, const std::string& machine_where, const Json& network,
                                const std::string& where);

}  // namespace shardplan
