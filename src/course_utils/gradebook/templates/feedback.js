window.MathJax = {
  tex2jax: { inlineMath: [["$", "$"]], displayMath: [["$$", "$$"]], processEscapes: true },
  messageStyle: "none",
};
