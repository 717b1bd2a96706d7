// Text for terminals: how many columns it takes, and how it fits into so many.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace opdump {

// Columns of `text`: its characters in UTF-8, most of which take one.
std::size_t display_columns(std::string_view text);

// `text` in `width` columns, its middle replaced by ".." if it is longer.
std::string shorten_middle(std::string_view text, std::size_t width);

// One line as lines of at most `width` columns, broken at spaces; those after the first begin with `indent`
// spaces. A word that is longer stays whole: it may be a path that somebody copies. Width 0: `text` as it is.
std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace opdump
