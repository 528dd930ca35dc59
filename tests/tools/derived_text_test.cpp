// The head of a derived program: what it was derived from, and where that is found.
#include "coda/tools/derived_text.h"

#include <gtest/gtest.h>

#include "coda/tools/explain.h"

struct OwnMean {  // outside of coda, as an author's is
  using Reduction = coda::Sum;
  static constexpr const char* parameter_names[] = {"width"};
  float width = 1.0f;
  template <class V>
  CODA_HD V finish(const V& sum) const {
    return sum / width;
  }
  CODA_HD float derivative(float) const { return 1.0f / width; }
};

struct OwnProgram {
  coda::PerRowFrom<OwnMean> mean;
  coda::Store<float> out;
  static constexpr const char* name = "own_program";
  static constexpr auto port_names = coda::names("mean", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(mean));
  }
};

namespace coda::tools {
namespace {

std::string text_of(const catalogue::Operation& operation, const trace::Instance& instance) {
  const trace::Graph forward = operation.variants[0].trace(instance);
  return derived_text(trace::derive(forward, {}), forward, operation);
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\n" << text;
}

TEST(DerivedText, SaysWhichInstanceItIs) {
  const catalogue::Operation& operation = catalogue::find_operation("linear_activation");
  const ProgramView& program = operation.variants[0].program;
  trace::Instance instance = usual_instance(program, {}, {"rstd", "mean"});
  instance.numbers["activation"] = 2;
  expect_part(text_of(operation, instance), "with activation = 2");
  expect_part(text_of(operation, instance), "without bias");
  expect_part(text_of(operation, instance), "(--number, --with).\n");
  const std::string given = text_of(operation, trace::everything(program));
  EXPECT_EQ(given.find("without"), std::string::npos) << given;
}

TEST(DerivedText, IncludesTheProgramAsTheCommandNamedIt) {
  catalogue::Operation operation{.name = "own_program", .file = "folder/own_program.h"};
  operation.variants.resize(1);  // which is not run, so that no kernel is needed
  operation.variants[0].program = describe(OwnProgram{});
  operation.variants[0].trace = &trace::run_instance<OwnProgram>;
  const std::string text = text_of(operation, {});
  expect_part(text, "#include \"folder/own_program.h\"\n");
  EXPECT_EQ(text.find("Of the program"), std::string::npos) << text;
}

}  // namespace
}  // namespace coda::tools
