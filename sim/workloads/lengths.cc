#include "sim/workloads/lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "sim/workloads/request_spec.h"

namespace shardplan {
namespace {

void require_lengths(const RequestLengths& lengths) {
  const auto in_range = [](std::int64_t tokens) { return tokens >= 1 && tokens <= kMaxRequestTokens; };
  if (!in_range(lengths.prompt_tokens) || !in_range(lengths.output_tokens)) {
    throw InputError("request lengths", "are out of range", "1 to 1,000,000,000 tokens each");
  }
}

class FixedLengths : public LengthModel {
 public:
  explicit FixedLengths(RequestLengths nominal) : nominal_(nominal) {}
  RequestLengths next(Random&) override { return nominal_; }

 private:
  RequestLengths nominal_;
};

class UniformLengths : public LengthModel {
 public:
  UniformLengths(RequestLengths nominal, double low_ratio) : nominal_(nominal), low_ratio_(low_ratio) {}
  RequestLengths next(Random& random) override {
    const std::int64_t prompt = draw(random, nominal_.prompt_tokens);
    return {.prompt_tokens = prompt, .output_tokens = draw(random, nominal_.output_tokens)};
  }

 private:
  [[nodiscard]] std::int64_t draw(Random& random, std::int64_t nominal) const {
    const auto low = static_cast<std::int64_t>(std::floor(static_cast<double>(nominal) * low_ratio_));
    return random.integer(std::max<std::int64_t>(1, low), nominal);
  }
  RequestLengths nominal_;
  double low_ratio_;
};

class LognormalLengths : public LengthModel {
 public:
  LognormalLengths(RequestLengths mean, double cv_ratio) : mean_(mean), sigma_(std::sqrt(std::log1p(cv_ratio * cv_ratio))) {}
  RequestLengths next(Random& random) override {
    const std::int64_t prompt = draw(random, mean_.prompt_tokens);
    return {.prompt_tokens = prompt, .output_tokens = draw(random, mean_.output_tokens)};
  }

 private:
  [[nodiscard]] std::int64_t draw(Random& random, std::int64_t mean) const {
    const double value = static_cast<double>(mean) * std::exp(sigma_ * random.normal_ratio() - sigma_ * sigma_ / 2);
    return std::llround(std::clamp(value, 1.0, static_cast<double>(kMaxRequestTokens)));
  }
  RequestLengths mean_;
  double sigma_;
};

class EmpiricalLengths : public LengthModel {
 public:
  explicit EmpiricalLengths(std::vector<RequestLengths> sample) : sample_(std::move(sample)) {}
  RequestLengths next(Random& random) override {
    return sample_[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(sample_.size()) - 1))];
  }

 private:
  std::vector<RequestLengths> sample_;
};

}  // namespace

std::unique_ptr<LengthModel> fixed_lengths(RequestLengths nominal) {
  require_lengths(nominal);
  return std::make_unique<FixedLengths>(nominal);
}

std::unique_ptr<LengthModel> uniform_lengths(RequestLengths nominal, double low_ratio) {
  require_lengths(nominal);
  if (!(low_ratio >= 0 && low_ratio <= 1)) throw InputError("length ratio", "is out of range", "0 to 1");
  return std::make_unique<UniformLengths>(nominal, low_ratio);
}

std::unique_ptr<LengthModel> lognormal_lengths(RequestLengths mean, double cv_ratio) {
  require_lengths(mean);
  if (!(cv_ratio >= 0 && cv_ratio <= 100)) throw InputError("length variation", "is out of range", "0 to 100");
  return std::make_unique<LognormalLengths>(mean, cv_ratio);
}

std::unique_ptr<LengthModel> empirical_lengths(std::vector<RequestLengths> sample) {
  if (sample.empty()) throw InputError("request lengths", "the sample is empty", "at least one pair");
  for (const RequestLengths& lengths : sample) require_lengths(lengths);
  return std::make_unique<EmpiricalLengths>(std::move(sample));
}

}  // namespace shardplan
