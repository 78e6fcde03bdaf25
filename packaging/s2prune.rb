# Homebrew formula. The archive is that of a release (make dist); its address and SHA-256 are filled in when there is one.
class S2prune < Formula
  desc "Vision-language models with most of their visual tokens removed"
  homepage "https://example.org/s2prune"
  url "file:///path/to/s2prune-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "node" => :build # npm brings the pinned source of ggml
  depends_on "pkgconf" => :build
  depends_on "gnutls"
  depends_on "jansson"
  depends_on "jpeg-turbo"
  depends_on "libheif"
  depends_on "libspng"
  depends_on "libtiff"
  depends_on "snappy"
  depends_on "sqlite"
  depends_on "utf8proc"
  depends_on "webp"
  depends_on "zstd"

  def install
    ENV["S2_CACHE_DIR"] = buildpath/"cache"
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DS2_TESTS=OFF", "-DS2_PACKAGE=ON", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    picture = share/"s2prune/data/synth/images/0000.jpg"
    question = "What number is written?"
    assert_equal "6342", shell_output("#{bin}/s2prune run -q -i #{picture} -p '#{question}' --budget 100%").strip
  end
end
