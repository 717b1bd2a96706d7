#include "compare/measure/relation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace opdump::compare {
namespace {

const std::vector<double> kGolden{0.5, -1.25, 3, 7.75, -2, 0.125, 9, -6, 4.5};

std::string relation(const std::vector<double>& actual, const std::vector<std::int64_t>& dims = {3, 3}) {
  return describe_relation(kGolden, actual, dims, model::DType::float32);
}

std::vector<double> made(double (*of)(double)) {
  std::vector<double> numbers;
  for (const double x : kGolden) numbers.push_back(of(x));
  return numbers;
}

TEST(Relation, AFactorAConstantAndTheSign) {
  EXPECT_EQ(relation(made([](double x) { return 2 * x; })), "actual is 2 × golden in all elements");
  EXPECT_EQ(relation(made([](double x) { return x / 3 * (1 + 1e-7); })),
            "actual is 0.333333 × golden in all elements");
  EXPECT_EQ(relation(made([](double x) { return -x; })), "actual has the other sign in all elements");
  EXPECT_EQ(relation(made([](double x) { return x - 0.5; })), "actual is golden - 0.5 in all elements");
}

TEST(Relation, AnotherOrder) {
  const auto& g = kGolden;
  EXPECT_EQ(relation({g[0], g[3], g[6], g[1], g[4], g[7], g[2], g[5], g[8]}),
            "actual is golden with axes 0 and 1 exchanged");
  EXPECT_EQ(relation({g[8], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[0]}),
            "actual has golden's elements in another order");
  EXPECT_EQ(relation({100, g[0], g[1], 200, g[3], g[4], 300, g[6], g[7]}),
            "actual is golden shifted by 1 along axis 1");
}

TEST(Relation, ClippedAndRounded) {
  EXPECT_EQ(relation(made([](double x) { return std::fmin(std::fmax(x, -2), 6); })),
            "actual is golden clipped to -2 ... 6");
  std::vector<double> golden{1.001, 2.003, -3.007, 5.011};
  const std::vector<double> halves{1.0009765625, 2.00390625, -3.0078125, 5.01171875};
  EXPECT_EQ(describe_relation(golden, halves, {4}, model::DType::float32),
            "actual is golden rounded to float16");
}

TEST(Relation, NothingSimple) {
  EXPECT_EQ(relation(made([](double x) { return x * x; })), "");
  EXPECT_EQ(relation(kGolden), "actual has golden's elements in another order")
      << "of equal tensors nobody asks";
  std::vector<double> one = kGolden;
  one[4] += 1;
  EXPECT_EQ(relation(one), "");
  one[4] = NAN;
  EXPECT_EQ(relation(one), "");
  EXPECT_EQ(describe_relation(std::vector<double>{1, 1, 1}, std::vector<double>{2, 2, 2}, {3},
                              model::DType::float32),
            "");
}

}  // namespace
}  // namespace opdump::compare
