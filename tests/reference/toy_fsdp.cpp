#include "tests/reference/toy_fsdp.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <span>

#include "tests/reference/cpu_run.hpp"

namespace shardsim::reference {

namespace {

constexpr int layers = 2;

/// Samples of a rank, and what they should give.
struct Batch {
  std::vector<float> x;
  std::vector<float> y;
};

std::size_t weights_of(const ToyNetwork& n, int layer) {
  return static_cast<std::size_t>(n.hidden) *
         static_cast<std::size_t>(layer == 0 ? n.inputs : n.outputs);
}

/// Padded so that every rank's part is a multiple of 16 bytes.
std::size_t padded(const ToyNetwork& n, int layer) {
  const auto grain = static_cast<std::size_t>(4 * n.ranks);
  return (weights_of(n, layer) + grain - 1) / grain * grain;
}

/// mt19937's sequence is the same everywhere; distributions of the library are not.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  float next() { return static_cast<float>(engine_() & 0xffff) / 32768.0F - 1; }

 private:
  std::mt19937 engine_;
};

std::vector<float> initial_weights(const ToyNetwork& n, int layer) {
  Random random(11 + static_cast<unsigned>(layer));
  std::vector<float> made(padded(n, layer), 0);
  const float scale = 1 / std::sqrt(static_cast<float>(layer == 0 ? n.inputs : n.hidden));
  for (std::size_t i = 0; i < weights_of(n, layer); ++i) made[i] = scale * random.next();
  return made;
}

Batch batch_of(const ToyNetwork& n, int rank) {
  Random random(100 + static_cast<unsigned>(rank));
  Batch made;
  for (int s = 0; s < n.samples_per_rank; ++s) {
    float sum = 0;
    for (int i = 0; i < n.inputs; ++i) {
      made.x.push_back(random.next());
      sum += made.x.back() * static_cast<float>(i % 3 - 1);
    }
    for (int o = 0; o < n.outputs; ++o) {
      made.y.push_back(std::sin(sum + static_cast<float>(o)));
    }
  }
  return made;
}

/// Forward and backward passes of a rank, in float or double.
template <class T>
class Passes {
 public:
  Passes(const ToyNetwork& n, const Batch& batch, int samples)
      : n_(n), batch_(batch), samples_(samples) {}

  void forward(std::span<const T> w1) {
    h_.assign(static_cast<std::size_t>(samples_ * n_.hidden), 0);
    for (int s = 0; s < samples_; ++s) {
      for (int j = 0; j < n_.hidden; ++j) {
        T sum = 0;
        for (int i = 0; i < n_.inputs; ++i) sum += w1[at(j, n_.inputs, i)] * x(s, i);
        h_[at(s, n_.hidden, j)] = std::tanh(sum);
      }
    }
  }

  /// The error of the outputs; returns the sum of squares.
  double finish(std::span<const T> w2) {
    double loss = 0;
    e_.assign(static_cast<std::size_t>(samples_ * n_.outputs), 0);
    for (int s = 0; s < samples_; ++s) {
      for (int o = 0; o < n_.outputs; ++o) {
        T sum = 0;
        for (int j = 0; j < n_.hidden; ++j)
          sum += w2[at(o, n_.hidden, j)] * h_[at(s, n_.hidden, j)];
        const T error = sum - static_cast<T>(batch_.y[at(s, n_.outputs, o)]);
        e_[at(s, n_.outputs, o)] = error;
        loss += static_cast<double>(error * error);
      }
    }
    return loss;
  }

  /// Gradients are divided by the samples of all ranks, `total`.
  std::vector<T> gradient_2(std::size_t size, int total) const {
    std::vector<T> g(size, 0);
    for (int s = 0; s < samples_; ++s) {
      for (int o = 0; o < n_.outputs; ++o) {
        for (int j = 0; j < n_.hidden; ++j) {
          g[at(o, n_.hidden, j)] +=
              2 * e_[at(s, n_.outputs, o)] * h_[at(s, n_.hidden, j)] / static_cast<T>(total);
        }
      }
    }
    return g;
  }

  std::vector<T> gradient_1(std::span<const T> w2, std::size_t size, int total) const {
    std::vector<T> g(size, 0);
    for (int s = 0; s < samples_; ++s) {
      for (int j = 0; j < n_.hidden; ++j) {
        T back = 0;
        for (int o = 0; o < n_.outputs; ++o) {
          back += 2 * e_[at(s, n_.outputs, o)] * w2[at(o, n_.hidden, j)];
        }
        const T h = h_[at(s, n_.hidden, j)];
        back *= (1 - h * h) / static_cast<T>(total);
        for (int i = 0; i < n_.inputs; ++i) g[at(j, n_.inputs, i)] += back * x(s, i);
      }
    }
    return g;
  }

 private:
  static std::size_t at(int row, int width, int column) {
    return static_cast<std::size_t>(row * width + column);
  }
  T x(int sample, int i) const { return static_cast<T>(batch_.x[at(sample, n_.inputs, i)]); }

  const ToyNetwork& n_;
  const Batch& batch_;
  int samples_;
  std::vector<T> h_;
  std::vector<T> e_;
};

template <class T>
void descend(const ToyNetwork& n, std::span<T> weights, std::span<T> speeds,
             std::span<const T> gradient) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    speeds[i] = static_cast<T>(n.momentum) * speeds[i] + gradient[i];
    weights[i] -= static_cast<T>(n.rate) * speeds[i];
  }
}

using PerRank = std::vector<std::vector<float>>;

/// Runs collectives of all ranks on the twin, and logs them.
class Communicator {
 public:
  Communicator(const ToyNetwork& n, std::vector<ToyCollective>& log) : n_(n), log_(log) {}

  PerRank all_reduce(const PerRank& from, int layer) {
    return run(Collective::all_reduce, Protocol::ll, "all_reduce", from, from[0].size(), layer);
  }
  PerRank all_gather(const PerRank& shards, int layer) {
    return run(Collective::all_gather, Protocol::simple, "all_gather", shards,
               shards[0].size() * shards.size(), layer);
  }
  PerRank reduce_scatter(const PerRank& from, int layer) {
    return run(Collective::reduce_scatter, Protocol::ll128, "reduce_scatter", from,
               from[0].size() / from.size(), layer);
  }

 private:
  PerRank run(Collective kind, Protocol protocol, const char* name, const PerRank& from,
              std::size_t result, int layer) {
    const std::size_t part = std::min(from[0].size(), result);
    const auto bytes = static_cast<std::int64_t>(4 * part);
    const Work work = plain_ring(kind, protocol, n_.ranks, 2, bytes);
    PerRank to(from.size(), std::vector<float>(result, NAN));
    std::vector<RankMemory> memory;
    for (std::size_t r = 0; r < from.size(); ++r) {
      memory.push_back({reinterpret_cast<const std::byte*>(from[r].data()),
                        reinterpret_cast<std::byte*>(to[r].data())});
    }
    ToyCollective logged{name, layer, work.size, 0};
    for (const TeamLog& team : run_on_cpu(plan_of(work), memory)) {
      logged.slices += static_cast<std::int64_t>(team.rows.size());
    }
    log_.push_back(logged);
    return to;
  }

  const ToyNetwork& n_;
  std::vector<ToyCollective>& log_;
};

/// What both strategies share: batches, losses and the order of a step.
class Training {
 public:
  explicit Training(const ToyNetwork& n) : n_(n), communicator_(n, result_.collectives) {
    for (int rank = 0; rank < n.ranks; ++rank) batches_.push_back(batch_of(n, rank));
  }

 protected:
  int total() const { return n_.ranks * n_.samples_per_rank; }
  std::vector<Passes<float>> passes() const {
    std::vector<Passes<float>> made;
    for (const Batch& batch : batches_) made.emplace_back(n_, batch, n_.samples_per_rank);
    return made;
  }

  const ToyNetwork& n_;
  ToyResult result_;
  Communicator communicator_;
  std::vector<Batch> batches_;
};

class Ddp : Training {
 public:
  explicit Ddp(const ToyNetwork& n) : Training(n) {
    for (int layer = 0; layer < layers; ++layer) {
      weights_.emplace_back(static_cast<std::size_t>(n.ranks), initial_weights(n, layer));
      speeds_.emplace_back(static_cast<std::size_t>(n.ranks),
                           std::vector<float>(padded(n, layer), 0));
      result_.persistent_floats += 2 * static_cast<std::int64_t>(padded(n, layer));
    }
  }

  ToyResult run() {
    for (int step = 0; step < n_.steps; ++step) this->step();
    for (int layer = 0; layer < layers; ++layer) {
      const auto& all = weights_[static_cast<std::size_t>(layer)][0];
      result_.weights.insert(result_.weights.end(), all.begin(),
                             all.begin() + static_cast<std::ptrdiff_t>(weights_of(n_, layer)));
    }
    return std::move(result_);
  }

 private:
  void step() {
    auto ranks = passes();
    double loss = 0;
    PerRank g1;
    PerRank g2;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].forward(weights_[0][r]);
      loss += ranks[r].finish(weights_[1][r]);
      g2.push_back(ranks[r].gradient_2(padded(n_, 1), total()));
      g1.push_back(ranks[r].gradient_1(weights_[1][r], padded(n_, 0), total()));
    }
    result_.losses.push_back(loss / total());
    update(1, communicator_.all_reduce(g2, 1));
    update(0, communicator_.all_reduce(g1, 0));
  }

  void update(std::size_t layer, const PerRank& sums) {
    for (std::size_t r = 0; r < sums.size(); ++r) {
      descend<float>(n_, weights_[layer][r], speeds_[layer][r], sums[r]);
    }
  }

  std::vector<PerRank> weights_;  ///< by layer, rank
  std::vector<PerRank> speeds_;
};

class FullySharded : Training {
 public:
  explicit FullySharded(const ToyNetwork& n) : Training(n) {
    for (int layer = 0; layer < layers; ++layer) {
      const auto all = initial_weights(n, layer);
      const auto part = static_cast<std::ptrdiff_t>(all.size()) / n.ranks;
      PerRank shards;
      for (int rank = 0; rank < n.ranks; ++rank) {
        shards.emplace_back(all.begin() + rank * part, all.begin() + (rank + 1) * part);
      }
      shards_.push_back(std::move(shards));
      speeds_.emplace_back(static_cast<std::size_t>(n.ranks),
                           std::vector<float>(static_cast<std::size_t>(part), 0));
      result_.persistent_floats += 2 * part;
    }
  }

  ToyResult run() {
    for (int step = 0; step < n_.steps; ++step) this->step();
    for (int layer = 0; layer < layers; ++layer) {
      const auto all = communicator_.all_gather(shards_[static_cast<std::size_t>(layer)], layer)[0];
      result_.weights.insert(result_.weights.end(), all.begin(),
                             all.begin() + static_cast<std::ptrdiff_t>(weights_of(n_, layer)));
    }
    return std::move(result_);
  }

 private:
  void step() {
    auto ranks = passes();
    double loss = 0;
    {
      const PerRank w1 = communicator_.all_gather(shards_[0], 0);
      for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].forward(w1[r]);
    }  // resharded after the forward pass
    PerRank g1;
    PerRank g2;
    const PerRank w2 = communicator_.all_gather(shards_[1], 1);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      loss += ranks[r].finish(w2[r]);
      g2.push_back(ranks[r].gradient_2(padded(n_, 1), total()));
      g1.push_back(ranks[r].gradient_1(w2[r], padded(n_, 0), total()));
    }
    result_.losses.push_back(loss / total());
    // The last layer is kept between its passes, as FSDP does. The first layer's backward pass
    // gathers it again, although the gradient of its inputs is not needed.
    const PerRank sums_2 = communicator_.reduce_scatter(g2, 1);
    communicator_.all_gather(shards_[0], 0);
    update(1, sums_2);
    update(0, communicator_.reduce_scatter(g1, 0));
  }

  void update(std::size_t layer, const PerRank& sums) {
    for (std::size_t r = 0; r < sums.size(); ++r) {
      descend<float>(n_, shards_[layer][r], speeds_[layer][r], sums[r]);
    }
  }

  std::vector<PerRank> shards_;  ///< by layer, rank
  std::vector<PerRank> speeds_;
};

}  // namespace

ToyResult train_with_ddp(const ToyNetwork& network) { return Ddp(network).run(); }
ToyResult train_fully_sharded(const ToyNetwork& network) { return FullySharded(network).run(); }

ToyResult train_alone(const ToyNetwork& network) {
  Batch all;
  for (int rank = 0; rank < network.ranks; ++rank) {
    const Batch part = batch_of(network, rank);
    all.x.insert(all.x.end(), part.x.begin(), part.x.end());
    all.y.insert(all.y.end(), part.y.begin(), part.y.end());
  }
  const int total = network.ranks * network.samples_per_rank;
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<double>> speeds;
  for (int layer = 0; layer < layers; ++layer) {
    const auto initial = initial_weights(network, layer);
    weights.emplace_back(initial.begin(), initial.end());
    speeds.emplace_back(initial.size(), 0);
  }
  ToyResult result;
  for (int step = 0; step < network.steps; ++step) {
    Passes<double> passes(network, all, total);
    passes.forward(weights[0]);
    result.losses.push_back(passes.finish(weights[1]) / total);
    const auto g2 = passes.gradient_2(weights[1].size(), total);
    const auto g1 = passes.gradient_1(weights[1], weights[0].size(), total);
    descend<double>(network, weights[1], speeds[1], g2);
    descend<double>(network, weights[0], speeds[0], g1);
  }
  for (int layer = 0; layer < layers; ++layer) {
    for (std::size_t i = 0; i < weights_of(network, layer); ++i) {
      result.weights.push_back(static_cast<float>(weights[static_cast<std::size_t>(layer)][i]));
    }
  }
  return result;
}

}  // namespace shardsim::reference
