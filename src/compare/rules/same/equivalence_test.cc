#include "compare/rules/same/equivalence.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "compare/compare_fixture_test.h"
#include "dump/operator_log.h"

namespace opdump::compare {
namespace {

namespace fs = std::filesystem;

// A dump of operators on float32 vectors, written by hand.
class Dump {
 public:
  explicit Dump(const fs::path& root) : root_(root) {}

  Dump& op(const std::string& name, const std::vector<std::vector<float>>& inputs,
           const std::vector<float>& output) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      write(name + ".0.0." + time() + ".input." + std::to_string(i), inputs[i]);
    write(name + ".0.0." + time() + ".output.0", output);
    return *this;
  }
  // The same, with what the log says of it: "Default/fc-Linear/mm-op0".
  Dump& logged(const std::string& name, const std::vector<std::vector<float>>& inputs,
               const std::vector<float>& output, model::Phase phase = model::Phase::forward) {
    const std::string type = log(name, phase);
    return op(type + "." + model::sanitise_name(name), inputs, output);
  }
  // One that updates tensors of a list by those of another.
  Dump& update(const std::string& name, const std::vector<std::vector<float>>& self,
               const std::vector<std::vector<float>>& others,
               const std::vector<std::vector<float>>& outputs) {
    const std::string slots = log(name, model::Phase::optimizer) + "." + model::sanitise_name(name) + ".0.0.";
    dump::LoggedForm call;
    call.operator_name = name;
    const auto list = [](std::size_t first, std::size_t count) {
      std::string text;
      for (std::size_t i = 0; i < count; ++i)
        text += (i > 0 ? "," : "") + std::string(R"({"tensor":)") + std::to_string(first + i) + "}";
      return "[" + text + "]";
    };
    call.form.arguments =
        R"({"self":)" + list(0, self.size()) + R"(,"grads":)" + list(self.size(), others.size()) + "}";
    append(format_log_line(call));
    std::vector<std::vector<float>> inputs = self;
    inputs.insert(inputs.end(), others.begin(), others.end());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      write(slots + time() + ".input." + std::to_string(i), inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      write(slots + time() + ".output." + std::to_string(i), outputs[i]);
    return *this;
  }
  // One that has a view of integers for an input.
  Dump& view(const std::string& name, const model::Shape& shape) {
    log(name, model::Phase::forward);
    dump::UndumpedSlot slot;
    slot.operator_name = name;
    slot.dtype = model::DType::int32;
    slot.shape = shape;
    slot.reason = "view";
    append(format_log_line(slot));
    return *this;
  }
  // One that makes integers of a number, and has no tensor else.
  Dump& integers(const std::string& name, const std::vector<std::int32_t>& output) {
    const std::string type = log(name, model::Phase::forward);
    write(type + "." + model::sanitise_name(name) + ".0.0." + time() + ".output.0", output, "int32");
    return *this;
  }
  const fs::path& root() const { return root_; }

 private:
  // Returns the type.
  std::string log(const std::string& name, model::Phase phase) {
    model::Operator op;
    op.name = name;
    op.type = name.substr(name.rfind('/') + 1, name.rfind('-') - name.rfind('/') - 1);
    op.phase = phase;
    append(format_log_line(dump::LoggedOperator(op)));
    return op.type;
  }
  void append(const std::string& line) {
    fs::create_directories(root_ / "rank_0");
    std::ofstream(root_ / "rank_0" / "operators.jsonl", std::ios::app) << line;
  }
  std::string time() { return std::to_string(++us_); }
  template <typename Number>
  void write(const std::string& slot, const std::vector<Number>& values,
             const std::string& dtype = "float32") {
    const fs::path directory = root_ / "rank_0" / "net" / "0" / "0";
    fs::create_directories(directory);
    std::string header = std::string("{'descr': '") + (dtype == "int32" ? "<i4" : "<f4") +
                         "', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
    header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
    std::string text("\x93NUMPY\x01\x00", 8);
    text.push_back(static_cast<char>(header.size() & 0xff));
    text.push_back(static_cast<char>(header.size() >> 8));
    std::string data(values.size() * 4, '\0');
    std::memcpy(data.data(), values.data(), data.size());
    std::ofstream(directory / (slot + ".DefaultFormat." + dtype + ".npy"), std::ios::binary)
        << text << header << data;
  }

  fs::path root_;
  std::uint64_t us_ = 1700000000000000;
};

class EquivalenceTest : public ::testing::Test {
 protected:
  EquivalenceTest() {
    std::string name = (fs::temp_directory_path() / "opdump_equivalence_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    golden_.emplace(directory_ / "golden");
    actual_.emplace(directory_ / "actual");
  }
  ~EquivalenceTest() override { fs::remove_all(directory_); }

  // The name of the first bad operator; empty if nothing differs.
  std::string first_bad() {
    auto golden = dump::DumpSet::open(golden_->root()), actual = dump::DumpSet::open(actual_->root());
    EXPECT_TRUE(golden && actual);
    std::vector<OperatorComparison> rows;
    CompareOptions options;
    options.take = [&](const OperatorComparison& op) { rows.push_back(op); };
    auto comparison = compare_dumps(*golden, *actual, options);
    EXPECT_TRUE(comparison);
    expect_counts(rows, *comparison);
    notes_ = texts_of(comparison->notes);
    EXPECT_EQ(comparison->outcome, comparison->first_bad ? Answer::differs : Answer::same);
    return comparison->first_bad ? comparison->first_bad->run().name : "";
  }

  fs::path directory_;
  std::optional<Dump> golden_, actual_;
  std::vector<std::string> notes_;
};

TEST_F(EquivalenceTest, WhatBothRunsReadAfterwardsIsNoDifference) {
  golden_->op("sub.a", {{5, 7}, {1, 2}}, {4, 5}).op("pow.b", {{4, 5}}, {16, 25});
  actual_->op("neg.x", {{1, 2}}, {-1, -2})
      .op("add.y", {{5, 7}, {-1, -2}}, {4, 5})
      .op("pow.b", {{4, 5}}, {16, 25});
  EXPECT_EQ(first_bad(), "");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0],
            "3 operators are in one run only, and the other run has the results, or nothing reads them: no "
            "difference");
}

TEST_F(EquivalenceTest, AFusedOperatorHasTheResultOfTheLastOne) {
  golden_->op("relu.a", {{1, 2}}, {1, 2})
      .op("mul.b", {{3, 4}}, {6, 8})
      .op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("fused.x", {{1, 1}, {3, 4}}, {7, 9.000001f});
  EXPECT_EQ(first_bad(), "");
}

// Views have no data in a dump.
TEST_F(EquivalenceTest, AResultThatIsReadThroughAViewIsRead) {
  const std::vector<float> half{1, 2, 3, 4, 5, 6, 7, 8}, rest{11, 12, 13, 14, 15, 16, 17, 18};
  std::vector<float> whole = half, one(8, 3.5f);
  whole.insert(whole.end(), rest.begin(), rest.end());
  golden_->op("mul.m", {{9}}, whole).op("mean.n", {{9, 9}}, {3.5f}).op("sub.a", {half, one}, {4, 5});
  actual_->op("sub.a", {half, one}, {4, 5});
  EXPECT_EQ(first_bad(), "");
  actual_->op("exp.e", {{1}}, {3.25f});
  EXPECT_EQ(first_bad(), "e");
}

TEST_F(EquivalenceTest, AResultThatTheOtherRunLacksIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2})
      .op("mul.b", {{3, 4}}, {6, 8})
      .op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("fused.x", {{1, 1}, {3, 4}}, {7, 9.001f});
  EXPECT_EQ(first_bad(), "x");
}

TEST_F(EquivalenceTest, ASkippedUpdateIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2}).op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2});
  EXPECT_EQ(first_bad(), "c");
}

TEST_F(EquivalenceTest, WhatOnlyACopyReadsIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("mul.b", {{1, 2}}, {2, 4}).op("clone.c", {{2, 4}}, {2, 4});
  EXPECT_EQ(first_bad(), "b");
}

// An attention that scales before the product or after it: what the product reads differs, what leaves the
// module does not.
TEST_F(EquivalenceTest, WhatARewrittenModuleComputesInBetweenIsNoDifference) {
  const auto fill = [&](float last) {
    golden_.emplace(directory_ / ("golden" + std::to_string(last)));
    actual_.emplace(directory_ / ("actual" + std::to_string(last)));
    golden_->logged("Default/relu-op0", {{1, 2}}, {1, 2})
        .logged("Default/attn-Attention/mul-op0", {{1, 2}}, {2, 4})
        .logged("Default/attn-Attention/mm-op0", {{2, 4}, {3, 5}}, {6, 20})
        .logged("Default/o-Linear/mm-op0", {{6, 20}}, {1, 3})
        .logged("Default/argmax-op0", {{1, 3}}, {1});
    actual_->logged("Default/relu-op0", {{1, 2}}, {1, 2})
        .logged("Default/attn-Attention/mm-op0", {{1, 2}, {3, 5}}, {3, 10})
        .logged("Default/attn-Attention/add-op0", {{3, 10}}, {last, 20})
        .logged("Default/o-Linear/mm-op0", {{last, 20}}, {last == 6 ? 1.f : 1.5f, 3})
        .logged("Default/argmax-op0", {{last == 6 ? 1.f : 1.5f, 3}}, {1});
  };
  fill(6);
  EXPECT_EQ(first_bad(), "");
  ASSERT_EQ(notes_.size(), 2u);
  EXPECT_EQ(notes_[1], "1 operator reads other tensors in each run, and what follows agrees: no difference");
  fill(7);  // it leaves the module
  EXPECT_EQ(first_bad(), "Default_attn-Attention_mm-op0");
}

// Gradients a, b and c.
TEST_F(EquivalenceTest, SumsInAnotherOrderAreNoDifference) {
  const auto fill = [&](Dump& dump, const std::vector<float>& first, const std::vector<float>& second,
                        const std::vector<float>& both, const std::vector<float>& third,
                        const std::vector<float>& all) {
    dump.logged("Default/sin-op0", {{1, 2}}, {1, 2})
        .logged("Default/cos-op0", {{1, 2}}, {10, 30})
        .logged("Default/tan-op0", {{1, 2}}, {100, 500})
        .logged("Default/add_-op0", {first, second}, both)
        .logged("Default/add_-op1", {both, third}, all)
        .logged("Default/mul-op0", {all}, {5, 6});
  };
  fill(*golden_, {1, 2}, {10, 30}, {11, 32}, {100, 500}, {111, 532});
  fill(*actual_, {10, 30}, {100, 500}, {110, 530}, {1, 2}, {111, 532});
  EXPECT_EQ(first_bad(), "");
  // A term that nothing made: a weight that differs.
  golden_.emplace(directory_ / "golden2");
  actual_.emplace(directory_ / "actual2");
  fill(*golden_, {1, 2}, {10, 30}, {11, 32}, {100, 500}, {111, 532});
  fill(*actual_, {10, 30}, {99, 500}, {109, 530}, {2, 2}, {111, 532});
  EXPECT_EQ(first_bad(), "Default_add_-op0");
}

TEST_F(EquivalenceTest, ATermThatIsLeftOutIsADifference) {
  golden_->logged("Default/sin-op0", {{1, 2}}, {1, 2})
      .logged("Default/cos-op0", {{1, 2}}, {10, 30})
      .logged("Default/tan-op0", {{1, 2}}, {100, 500})
      .logged("Default/add_-op0", {{1, 2}, {10, 30}}, {11, 32})
      .logged("Default/add_-op1", {{11, 32}, {100, 500}}, {111, 532});
  actual_->logged("Default/sin-op0", {{1, 2}}, {1, 2})
      .logged("Default/cos-op0", {{1, 2}}, {10, 30})
      .logged("Default/tan-op0", {{1, 2}}, {100, 500})
      .logged("Default/add_-op0", {{10, 30}, {100, 500}}, {110, 530});
  EXPECT_NE(first_bad(), "");
}

// What a mask leaves of a difference is nothing, whatever the difference is.
TEST_F(EquivalenceTest, AChoiceDoesNotExcuseWhatItReads) {
  golden_->logged("Default/sin-op0", {{1, 2}}, {1, 2}).logged("Default/m/exp-op0", {{1, 2}}, {3, 4});
  actual_->logged("Default/sin-op0", {{1, 2}}, {1, 2}).logged("Default/m/log-op0", {{1, 2}}, {3, 5});
  for (auto [dump, value] : {std::pair(&*golden_, 4.f), std::pair(&*actual_, 5.f)})
    dump->logged("Default/m/mul-op0", {{3, value}}, {3, value}).integers("Default/argmax-op0", {1});
  EXPECT_EQ(first_bad(), "Default_m_mul-op0");
}

TEST_F(EquivalenceTest, ACastOfAResultIsReadForIt) {
  golden_->logged("Default/sin-op0", {{1, 2}}, {1, 2}).logged("Default/mul-op0", {{1.5f, 2}}, {2, 4});
  actual_->logged("Default/sin-op0", {{1, 2}}, {1, 2})
      .logged("Default/exp-op0", {{1, 2}}, {1.25f, 2})
      .logged("Default/_to_copy-op0", {{1.25f, 2}}, {1.5f, 2})
      .logged("Default/mul-op0", {{1.5f, 2}}, {2, 4});
  EXPECT_EQ(first_bad(), "");
}

// Python decides by it.
TEST_F(EquivalenceTest, IntegersAreReadThroughViews) {
  for (Dump* dump : {&*golden_, &*actual_}) dump->logged("Default/sin-op0", {{1, 2}}, {1, 2});
  actual_->integers("Default/cumsum-op0", {0, 0});
  EXPECT_EQ(first_bad(), "Default_cumsum-op0");
  actual_->view("Default/select-op0", model::Shape({2}));
  EXPECT_EQ(first_bad(), "");
}

TEST_F(EquivalenceTest, AGradientThatNoOptimizerReadsIsNoDifference) {
  for (Dump* dump : {&*golden_, &*actual_}) dump->logged("Default/sin-op0", {{1, 2}}, {1, 2});
  actual_->logged("Gradients/Default/sum-op0", {{1, 2}}, {3}, model::Phase::backward);
  EXPECT_EQ(first_bad(), "Gradients_Default_sum-op0");
  for (Dump* dump : {&*golden_, &*actual_})
    dump->logged("Default/SGD/add_-op0", {{7, 2}}, {8, 2}, model::Phase::optimizer);
  EXPECT_EQ(first_bad(), "");
}

TEST_F(EquivalenceTest, AnEvaluationThatNobodyReadsIsNoDifferenceInATraining) {
  for (Dump* dump : {&*golden_, &*actual_}) dump->logged("Default/fc-Linear/mm-op0", {{1, 2}}, {1, 2});
  actual_->logged("Default/fc-Linear/mm-op1", {{1, 2}}, {3, 4})
      .logged("Default/fc-Linear/mean-op0", {{3, 4}}, {3.5f});
  EXPECT_EQ(first_bad(), "Default_fc-Linear_mean-op0");
  for (Dump* dump : {&*golden_, &*actual_})
    dump->logged("Default/SGD/add_-op0", {{7, 2}}, {8, 2}, model::Phase::optimizer);
  EXPECT_EQ(first_bad(), "");
}

TEST_F(EquivalenceTest, MemoryThatAnOperatorWritesIsAResultInATraining) {
  for (Dump* dump : {&*golden_, &*actual_}) dump->logged("Default/sin-op0", {{1, 2}}, {1, 2});
  actual_->logged("Default/mul_-op0", {{1, 2}}, {3, 4});
  for (Dump* dump : {&*golden_, &*actual_})
    dump->logged("Default/SGD/add_-op0", {{7, 2}}, {8, 2}, model::Phase::optimizer);
  EXPECT_EQ(first_bad(), "Default_mul_-op0");
}

// Another weight decay: what follows agrees, and later rounding is larger.
TEST_F(EquivalenceTest, AParameterThatIsOffByLittleIsADifference) {
  const auto fill = [&](Dump& dump, const std::string& update, float weight, float later) {
    dump.logged("Default/sin-op0", {{1, 2}}, {1, 2})
        .logged("Default/SGD/" + update, {{1, 2}}, {weight, 2.5f}, model::Phase::optimizer)
        .logged("Default/fc-Linear/mm-op0", {{weight, 2.5f}}, {4, 5})
        .logged("Default/cos-op0", {{1, 2}}, {later, 1});
  };
  fill(*golden_, "add_-op0", 1.5f, 1);
  fill(*actual_, "_foreach_add_-op0", 1.50004f, 1.00001f);
  EXPECT_EQ(first_bad(), "Default_fc-Linear_mm-op0");
}

// The second element of the first gradient is nothing but rounding.
TEST_F(EquivalenceTest, ElementsThatOptimizersAmplifyAreNoDifference) {
  const auto fill = [&](const std::vector<float>& first, const std::vector<float>& second,
                        float in_golden = -0.1f, float gradient = -2e-12f) {
    const std::string name = std::to_string(first[0]) + std::to_string(second[1]) + std::to_string(in_golden);
    golden_.emplace(directory_ / ("golden" + name));
    actual_.emplace(directory_ / ("actual" + name));
    golden_->logged("Gradients/Default/sum-op0", {{5, 6}}, {1, 1e-12f}, model::Phase::backward)
        .logged("Gradients/Default/sum-op1", {{7, 8}}, {3, 4}, model::Phase::backward)
        .update("Default/Adam/addcdiv_-op0", {{2, 0}}, {{1, 1e-12f}}, {{1.9f, in_golden}})
        .update("Default/Adam/addcdiv_-op1", {{4, 0}}, {{3, 4}}, {{3.9f, -0.1f}});
    actual_->logged("Gradients/Default/sum-op0", {{5, 6}}, {1, gradient}, model::Phase::backward)
        .logged("Gradients/Default/sum-op1", {{7, 8}}, {3, 4}, model::Phase::backward)
        .update("Default/Adam/_fused_adam_-op0", {{2, 0}, {4, 0}}, {{1, gradient}, {3, 4}}, {first, second});
    return first_bad();
  };
  EXPECT_EQ(fill({1.9f, 0.1f}, {3.9f, -0.1f}), "");
  EXPECT_EQ(fill({1.9f, -2e-4f}, {3.9f, -0.1f}, 1e-4f), "");  // what is left of two steps
  EXPECT_NE(fill({1.8f, 0.1f}, {3.9f, -0.1f}), "");
  EXPECT_NE(fill({1.9f, 0.1f}, {3.9f, 0.1f}), "");
}

}  // namespace
}  // namespace opdump::compare
