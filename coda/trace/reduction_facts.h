// Reductions and finishes as graphs: what C++ says about them, told to whoever only has a Graph.
// Host only.
#pragma once
#include <cstring>

#include "coda/program/reduction.h"
#include "coda/program/reflect.h"
#include "coda/trace/layout.h"

namespace coda::trace {

namespace detail {

std::string type_in(std::string signature);  // of a function template, as the compiler writes it

template <class T>
std::string type_name() {
  return type_in(__PRETTY_FUNCTION__);
}

using Number = Values<float, Space::kElement>;

template <class State, class F>
void for_each_member(State& state, F&& f) {
  if constexpr (std::is_same_v<std::remove_const_t<State>, Number>) {
    f(state);
  } else {
    coda::detail::with_members(state, [&](auto&... member) { (f(member), ...); });
  }
}

template <class State>
std::vector<int> nodes_of(const State& state) {
  std::vector<int> result;
  for_each_member(state, [&](const Number& member) { result.push_back(member.lane[0].node); });
  return result;
}

inline Number argument(int which) { return {{{Recording::builder().argument(which)}}}; }

template <class State>
State state_argument(int first) {
  State state{};
  for_each_member(state, [&](Number& member) { member = argument(first++); });
  return state;
}

template <size_t kCount>
std::array<Number, kCount> arguments(int first) {
  std::array<Number, kCount> result;
  for (Number& number : result) number = argument(first++);
  return result;
}

template <class F>
Subgraph record(F&& f) {
  Subgraph result;
  Builder builder(result.nodes);
  const Recording recording(builder);
  result.results = f();
  return result;
}

}  // namespace detail

// How many numbers a row is finished to.
template <class R>
constexpr size_t value_count() {
  if constexpr (requires { R::value_names[0]; }) {
    return std::size(R::value_names);
  } else {
    return 1;
  }
}

template <class R>
std::shared_ptr<const ReductionFacts> reduction_facts() {
  using State = typename R::template State<detail::Number>;
  static const auto facts = [] {
    ReductionFacts result;
    result.type = detail::type_name<R>();
    const Subgraph identity =
        detail::record([] { return detail::nodes_of(R::template identity<detail::Number>()); });
    for (const int node : identity.results) {
      result.identity.push_back(identity.nodes[static_cast<size_t>(node)].value);
    }
    result.members = static_cast<int>(result.identity.size());
    result.combine = detail::record([&] {
      return detail::nodes_of(R::combine(detail::state_argument<State>(0),
                                         detail::state_argument<State>(result.members)));
    });
    if constexpr (requires { R::value_names[0]; }) {
      result.values.assign(std::begin(R::value_names), std::end(R::value_names));
    }
    return std::make_shared<const ReductionFacts>(std::move(result));
  }();
  return facts;
}

template <class R, size_t kArguments>
std::shared_ptr<const LiftFacts> lift_facts() {
  static const auto facts = [] {
    LiftFacts result;
    result.arguments = static_cast<int>(kArguments);
    result.lift = detail::record([] {
      return std::apply([](const auto&... x) { return detail::nodes_of(R::lift(x...)); },
                        detail::arguments<kArguments>(0));
    });
    constexpr size_t kValues = value_count<R>();
    if constexpr (requires(std::array<detail::Number, kArguments> x,
                           std::array<detail::Number, kValues> v) { R::pull_back(x, v, v); }) {
      result.pull_back = detail::record([] {
        constexpr int kFirst = static_cast<int>(kArguments);
        const auto gradients =
            R::pull_back(detail::arguments<kArguments>(0), detail::arguments<kValues>(kFirst),
                         detail::arguments<kValues>(kFirst + kValues));
        std::vector<int> nodes;
        for (const detail::Number& gradient : gradients) nodes.push_back(gradient.lane[0].node);
        return nodes;
      });
    }
    return std::make_shared<const LiftFacts>(std::move(result));
  }();
  return facts;
}

// In fp64 where the finish takes it, else in fp32.
template <class Finish>
std::shared_ptr<const FinishFacts> finish_facts(const Finish& finish) {
  using Reduction = typename Finish::Reduction;
  FinishFacts result;
  result.type = detail::type_name<Finish>();
  result.reduction = *reduction_facts<Reduction>();
  if constexpr (requires { Finish::never_zero; }) result.never_zero = Finish::never_zero;
  result.finish = [finish](const std::vector<double>& members) -> double {
    const auto finished = [&]<class V>(V) -> double {
      typename Reduction::template State<V> state;
      std::vector<V> numbers(members.begin(), members.end());
      std::memcpy(&state, numbers.data(), sizeof(state));
      return finish.finish(state);
    };
    if constexpr (requires(typename Reduction::template State<double> s) { finish.finish(s); }) {
      return finished(double());
    } else {
      return finished(float());
    }
  };
  if constexpr (requires { Finish::parameter_names[0]; }) {
    coda::detail::with_members(finish, [&](const auto&... parameter) {
      int i = 0;
      (result.parameters.emplace_back(Finish::parameter_names[i++], parameter), ...);
    });
  }
  return std::make_shared<const FinishFacts>(std::move(result));
}

}  // namespace coda::trace
