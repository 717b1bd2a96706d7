// Selects operators. A rule is a whole name, a part of the type, or a regular expression. The first matching
// rule selects an operator. Without rules every operator is selected. Filters then narrow the selection: each
// of them must match.
//
// Regular expressions are RE2's: linear in the name's length whatever the pattern, Perl's classes (\d, \w),
// no look-around and no back-references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::plan {

enum class RuleKind : std::uint8_t {
  regex,         // the whole scoped name matches
  regex_search,  // some part of the scoped name matches
  name,          // equals the whole scoped name, case-sensitive
  type,          // is part of the operator's base name, case-insensitive ("conv" selects "conv2d-op1"), or
                 // is MindSpore's name for it ("Conv2D" selects "convolution-op0")
};

// What the regular expression of a filter matches.
enum class FilterKind : std::uint8_t {
  ops,     // a part of the operator's base name, in upper or lower case, or the whole scoped name
  module,  // whole parts of the module's path: "layers.3" in "model.layers.3.attention", not in "layers.30"
};

class OpSelector {
 public:
  // Each expression may need some MiB of automata for matching.
  static constexpr std::size_t kMaxRegexes = 1024;

  OpSelector();
  OpSelector(OpSelector&&) noexcept;
  OpSelector& operator=(OpSelector&&) noexcept;
  ~OpSelector();

  // Errors: config -- a regular expression that does not compile (the message says what and where in it), or
  // more than kMaxRegexes of them.
  Result<> add(RuleKind kind, std::string text);

  // One filter of each kind. Errors: config -- as above, or an empty text.
  Result<> narrow(FilterKind kind, std::string text);

  // True if `name` ("Default/conv1-Conv2d/convolution-op0") is selected. Called once per operator, not per
  // step; counts the match for its rule and for the filters. Order: regexes, names, types; the first hit
  // wins. Not thread-safe.
  bool wants(std::string_view name);

  // The same, and counts nothing.
  bool selects(std::string_view name) const;

  bool selects_all() const;

  // Whether one of the regular expressions, or all filters, match; counts nothing.
  bool matches_regex(std::string_view name) const;

  struct SelectorRule {
    RuleKind kind;
    std::string text;       // as the user wrote it
    std::uint64_t matches;  // operators it selected so far
  };
  std::vector<SelectorRule> rules() const;

  struct Filter {
    FilterKind kind;
    std::string text;
    std::uint64_t matches;  // operators that it matches so far, whatever the rules and the other filter say
  };
  std::vector<Filter> filters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A sentence for the user for each rule and filter of `selector` that matched none of the operators `names`,
// with similar names.
std::vector<std::string> describe_unmatched(const OpSelector& selector,
                                            std::span<const std::string_view> names);

// The text after the last '/' up to the last '-' of the whole name: "convolution". Without such a '-', to the
// end.
std::string_view base_name(std::string_view name);

// The path of the module that runs the operator, as torch writes it: "layers.3" of
// "Gradients/Default/layers-Sequential/3-Linear/addmm-op0". Empty outside modules.
std::string module_path(std::string_view name);

}  // namespace opdump::plan
