// The arguments of an operator in the recorder's form: literals, and the positions of tensors. With them what
// its result depends on: autocast, and the generator of random numbers.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arena.h"
#include "opdump/opdump.h"
#include "operator_kind.h"

namespace opdump::torch_adapter {

// opdump_arguments whose pointers lead into it and to what lives for ever.
class Arguments {
 public:
  Arguments(const OperatorKind& kind, c10::ArrayRef<c10::IValue> values);
  const opdump_argument* data() const { return arguments_.data(); }
  std::size_t size() const { return arguments_.size(); }

 private:
  void add_state(const char* name, std::string_view text);
  void add_generator(c10::ArrayRef<c10::IValue> values);
  opdump_argument convert(const c10::IValue& value, c10::TypeKind type);
  opdump_argument convert_list(const c10::IValue& value, c10::TypeKind type);
  opdump_argument text(std::string_view text);

  std::uint32_t next_operand_ = 0;  // counted as Operands counts
  c10::SmallVector<opdump_argument, 12> arguments_;
  Arena arena_;  // of lists and texts
};

}  // namespace opdump::torch_adapter
