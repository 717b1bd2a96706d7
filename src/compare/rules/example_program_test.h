// The two runs of an example of a rule, operator by operator.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare_fixture_test.h"
#include "dump/operator_log.h"

namespace opdump::compare {

using Tensors = std::vector<std::vector<float>>;

// What a log says of an operator.
struct Said {
  std::string arguments = {}, state = {}, function = {};
  model::Phase phase = model::Phase::forward;
  std::optional<std::vector<std::string>> originals = {};  // of which an engine made it
  std::string source = {};                                 // the file, whose first line calls it
};

// One of the two runs, with and without a log.
class Program {
 public:
  explicit Program(HandMade& dump) : dump_(dump) {}

  // An operator that no log names: "relu.b".
  Program& op(const std::string& slots, const Tensors& inputs, const Tensors& outputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      dump_.tensor(slots + ".input." + std::to_string(i), inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      dump_.tensor(slots + ".output." + std::to_string(i), outputs[i]);
    return *this;
  }
  // The same with its full name, "Default/fc-Linear/mm-op0".
  Program& logged(const std::string& name, const Tensors& inputs, const Tensors& outputs,
                  const Said& said = {}) {
    return say(name, said).op(slots_of(name), inputs, outputs);
  }
  Program& say(const std::string& name, const Said& said = {}) {
    model::Operator op;
    op.name = name;
    op.type = type_of(name);
    op.phase = said.phase;
    op.original_names = said.originals;
    op.source_file = said.source;
    op.source_line = said.source.empty() ? 0 : 1;
    append(format_log_line(dump::LoggedOperator(op)));
    dump::LoggedForm call{.operator_name = name, .form = {said.function, said.arguments, said.state}};
    if (call.form != dump::CallForm()) append(format_log_line(call));
    return *this;
  }
  Program& undumped(const std::string& name, model::Side side, const std::string& reason) {
    dump::UndumpedSlot slot;
    slot.operator_name = name;
    slot.side = side;
    slot.dtype = model::DType::float32;
    slot.shape = model::Shape({2});
    slot.reason = reason;
    return append(format_log_line(slot));
  }
  Program& wired(const std::string& name, std::vector<dump::CallWiring::Input> inputs) {
    return append(format_log_line(dump::LoggedWiring{.operator_name = name, .wiring = {std::move(inputs)}}));
  }
  Program& places(const std::string& slot, const std::vector<std::int64_t>& values) {
    dump_.raw(slot, "<i8", "(" + std::to_string(values.size()) + ",)",
              {reinterpret_cast<const char*>(values.data()), values.size() * 8}, "int64");
    return *this;
  }
  Program& file(const std::string& name, const std::string& text) {
    std::ofstream(dump_.root() / "rank_0" / "net" / "0" / "0" / name) << text;
    return *this;
  }
  Program& status(const std::string& runtime, const dump::RunEnvironment& facts = {}) {
    dump::RecordingStatus status;
    status.state = "complete";
    status.runtime = runtime;
    status.environment = facts;
    EXPECT_TRUE(dump::write_status(dump_.root() / "rank_0", status));
    return *this;
  }
  Program& configure(const std::string& text) {
    std::ofstream(dump_.root() / "opdump_config.json") << text;
    return *this;
  }
  // Adds another rank, whose program `fill` writes.
  template <typename Fill>
  Program& rank(std::uint32_t rank, const Fill& fill) {
    const fs::path apart = dump_.root() / "apart";
    HandMade dump(apart);
    Program program(dump);
    fill(program);
    fs::rename(apart / "rank_0", dump_.root() / ("rank_" + std::to_string(rank)));
    fs::remove_all(apart);
    return *this;
  }
  HandMade& dump() { return dump_; }

 private:
  static std::string type_of(const std::string& name) {
    const std::size_t begin = name.rfind('/') + 1;
    return name.substr(begin, name.rfind('-') - begin);
  }
  static std::string slots_of(const std::string& name) {
    return type_of(name) + "." + model::sanitise_name(name);
  }
  Program& append(const std::string& line) {
    std::ofstream(dump_.root() / "rank_0" / dump::kOperatorLogName, std::ios::app) << line;
    return *this;
  }

  HandMade& dump_;
};

}  // namespace opdump::compare
