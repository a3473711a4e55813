export default {
  compilerOptions: {
    runes: true,
    discloseVersion: false,
    // Short, as scripts repeat them: three letters of the hash tell a hundred components apart.
    cssHash: ({ hash, css }) => `x${hash(css).slice(-3)}`,
  },
};
