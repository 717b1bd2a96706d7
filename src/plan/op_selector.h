// Which operators a plan wants. A rule is a whole name, a part of the type, or a regular expression; an
// operator is selected by the first rule that matches. No rules: every operator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::plan {

enum class RuleKind : std::uint8_t {
  regex,  // the whole scoped name matches
  name,   // equals the whole scoped name, case-sensitive
  type,   // is part of the operator's base name, case-insensitive ("conv" selects "conv2d-op1")
};

class OpSelector {
 public:
  OpSelector();
  OpSelector(OpSelector&&) noexcept;
  OpSelector& operator=(OpSelector&&) noexcept;
  ~OpSelector();

  // Errors: config -- a regular expression that does not compile; the message says where in it.
  Result<> add(RuleKind kind, std::string text);

  // True if `name` ("Default/conv1-Conv2d/convolution-op0") is wanted. Called once per operator, not once per
  // step; counts the match for its rule. Order: regexes, names, types; the first hit wins. Not thread-safe.
  bool wants(std::string_view name);

  bool selects_all() const;

  struct Rule {
    RuleKind kind;
    std::string text;       // as the user wrote it
    std::uint64_t matches;  // operators it selected so far
  };
  std::vector<Rule> rules() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The text after the last '/' up to the last '-' of the whole name: "convolution". Without such a '-', to the
// end.
std::string_view base_name(std::string_view name);

}  // namespace opdump::plan
