// Two dumps written by hand, and what opdump says of them; and single executions.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare.h"
#include "dump/status_file.h"
#include "dump/temp_directory_test.h"

namespace opdump::compare {

namespace fs = std::filesystem;

inline std::vector<std::string> texts_of(const std::vector<Note>& notes) {
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.push_back(note.text);
  return texts;
}

// Rows and summary say the same.
inline void expect_counts(const std::vector<OperatorComparison>& rows, const Comparison& comparison) {
  std::array<std::uint64_t, std::size(kVerdictNames)> verdicts{};
  for (const OperatorComparison& row : rows) ++verdicts[static_cast<std::size_t>(row.verdict)];
  EXPECT_EQ(verdicts, comparison.verdicts);
}

// A dump written by hand: the bytes that the reader has to understand, not those that our writer makes.
class HandMade {
 public:
  explicit HandMade(const fs::path& root) : root_(root) { fs::create_directories(step_directory(0)); }

  // A slot is "add.a.input.0": type, sanitised name, side, index.
  HandMade& tensor(const std::string& slot, const std::vector<float>& values, const std::string& shape = "") {
    std::string data(values.size() * 4, '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return raw(slot, "<f4", shape.empty() ? "(" + std::to_string(values.size()) + ",)" : shape, data,
               "float32");
  }

  HandMade& raw(const std::string& slot, const std::string& descr, const std::string& shape,
                const std::string& data, const std::string& dtype) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
    std::string text("\x93NUMPY\x01\x00", 8);
    text.push_back(static_cast<char>(header.size() & 0xff));
    text.push_back(static_cast<char>(header.size() >> 8));
    return file(slot, dtype, text + header + data);
  }

  HandMade& file(const std::string& slot, const std::string& dtype, const std::string& bytes) {
    const std::size_t side = slot.rfind('.', slot.rfind('.') - 1);
    const fs::path path = step_directory(step_) / (slot.substr(0, side) + ".0.0." + std::to_string(++us_) +
                                                   slot.substr(side) + ".DefaultFormat." + dtype + ".npy");
    std::ofstream(path, std::ios::binary) << bytes;
    last_ = path;
    return *this;
  }

  HandMade& statistics(const std::string& rows) {
    std::ofstream(step_directory(step_) / "statistic.csv")
        << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min "
           "Value,"
           "L2Norm Value\n"
        << rows;
    return *this;
  }

  HandMade& step(std::int64_t step) {
    step_ = step;
    fs::create_directories(step_directory(step));
    return *this;
  }

  HandMade& state(const std::string& state) {
    dump::RecordingStatus status;
    status.state = state;
    EXPECT_TRUE(dump::write_status(root_ / "rank_0", status));
    return *this;
  }

  fs::path last() const { return last_; }
  const fs::path& root() const { return root_; }

 private:
  fs::path step_directory(std::int64_t step) const {
    return root_ / "rank_0" / "net" / "0" / std::to_string(step);
  }

  fs::path root_, last_;
  std::int64_t step_ = 0;
  std::uint64_t us_ = 1700000000000000;
};

// An execution of an operator, whose tensors lie in files.
class RecordedOperator {
 public:
  RecordedOperator(std::string type, std::string arguments) {
    run.type = std::move(type);
    run.form = std::make_shared<const dump::CallForm>(dump::CallForm{.arguments = std::move(arguments)});
  }
  RecordedOperator& with(model::Side side, std::uint32_t index, model::Shape shape,
                         const std::vector<float>& values) {
    return add(side, index, std::move(shape), std::as_bytes(std::span(values)), model::DType::float32);
  }
  RecordedOperator& with_integers(model::Side side, std::uint32_t index, model::Shape shape,
                                  const std::vector<std::int64_t>& values) {
    return add(side, index, std::move(shape), std::as_bytes(std::span(values)), model::DType::int64);
  }

  dump::OperatorRun run;

 private:
  RecordedOperator& add(model::Side side, std::uint32_t index, model::Shape shape,
                        std::span<const std::byte> bytes, model::DType dtype) {
    const fs::path path = directory_.path() / std::to_string(run.slots.size());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    dump::Slot& slot = run.slots.emplace_back();
    slot.side = side;
    slot.index = index;
    slot.dtype = dtype;
    slot.shape = std::move(shape);
    slot.file = path;
    slot.part = format::Extent{0, bytes.size()};
    return *this;
  }
  dump::TempDirectory directory_;
};

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    std::string name = (fs::temp_directory_path() / "opdump_compare_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    golden_.emplace(directory_ / "golden");
    actual_.emplace(directory_ / "actual");
  }
  ~CompareTest() override { fs::remove_all(directory_); }

  // Three operators in a row: relu(add(x, y)), then mul.
  static void fill(HandMade& dump, float first = 1) {
    dump.tensor("add.a.input.0", {first, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
    dump.tensor("relu.b.input.0", {4, 6}).tensor("relu.b.output.0", {4, 6});
    dump.tensor("mul.c.input.0", {4, 6}).tensor("mul.c.output.0", {8, 12});
  }

  const Comparison& compare(const CompareOptions& options = {}) {
    auto golden = dump::DumpSet::open(golden_->root());
    auto actual = dump::DumpSet::open(actual_->root());
    EXPECT_TRUE(golden) << golden.error().message();
    EXPECT_TRUE(actual) << actual.error().message();
    dumps_.clear();
    dumps_.push_back(std::move(*golden));
    dumps_.push_back(std::move(*actual));
    operators_.clear();
    CompareOptions taking = options;
    taking.take = [&](const OperatorComparison& op) { operators_.push_back(op); };
    auto comparison = compare_dumps(dumps_[0], dumps_[1], taking);
    EXPECT_TRUE(comparison);
    comparison_ = std::move(*comparison);
    expect_counts(operators_, comparison_);
    return comparison_;
  }

  std::vector<std::string> note_texts() const { return texts_of(comparison_.notes); }

  // Which of the operators.
  std::optional<std::size_t> first_bad() const {
    for (std::size_t i = 0; i < operators_.size() && comparison_.first_bad; ++i)
      if (operators_[i].golden == comparison_.first_bad->golden &&
          operators_[i].actual == comparison_.first_bad->actual)
        return i;
    return std::nullopt;
  }

  std::vector<std::string> verdicts() const {
    std::vector<std::string> words;
    for (const OperatorComparison& op : operators_)
      words.push_back(op.run().name + ":" + std::string(kVerdictNames[static_cast<int>(op.verdict)]));
    return words;
  }

  const SlotComparison& slot(const std::string& op_name, model::Side side, std::uint32_t index = 0) const {
    for (const OperatorComparison& op : operators_)
      for (const SlotComparison& slot : op.slots) {
        const dump::Slot& s = slot.golden != nullptr ? *slot.golden : *slot.actual;
        if (op.run().name == op_name && s.side == side && s.index == index) return slot;
      }
    ADD_FAILURE() << "no slot of " << op_name;
    static const SlotComparison kNone;
    return kNone;
  }

  fs::path directory_;
  std::optional<HandMade> golden_, actual_;
  std::vector<dump::DumpSet> dumps_;
  Comparison comparison_;
  std::vector<OperatorComparison> operators_;
};

}  // namespace opdump::compare
