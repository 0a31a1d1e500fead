# The service without a PostgreSQL of its own: DATABASE_URL says where the database is. PostgreSQL's binaries
# would be most of the image, and nobody wants a container that holds the only copy of the data.

# The digest makes a build repeatable: a tag can be moved. "The image" in docs/operating.md says how to take a newer one.
ARG NODE_IMAGE=node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS build
WORKDIR /dibs
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json main.ts serve.ts ./
COPY scripts ./scripts
COPY sql ./sql
COPY commands ./commands
COPY src ./src
COPY routes ./routes
COPY queuesFile ./queuesFile
COPY web ./web
COPY clients/typescript/src ./clients/typescript/src
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /dibs
COPY package.json package-lock.json ./
# The packages for traces are optional dependencies, and stay. PostgreSQL's binaries are packages for one system each: npm finds
# none for a system that does not exist.
RUN npm ci --omit=dev --os=none --ignore-scripts
# What is in the image, for scanners (CycloneDX). With --omit=dev, npm leaves out packages that the tools need too. So it
# must not know the tools.
RUN npm pkg delete devDependencies
RUN npm sbom --sbom-format=cyclonedx > sbom.json

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
# Nobody outside can reach a container's loopback, so Dibs listens on all addresses. For that it needs an access
# key (ADMIN_KEY_FILE), or AUTH=off, which says that the network is safe.
ENV HOST=0.0.0.0
WORKDIR /dibs
COPY --from=dependencies /dibs/node_modules ./node_modules
COPY --from=dependencies /dibs/sbom.json ./
COPY --from=build /dibs/dist ./dist
COPY package.json LICENSE ./
# The user "node". Its number lets Kubernetes see that it is not root (runAsNonRoot). Nothing here belongs to it, and Dibs
# writes no files: the file system may be read-only, without any tmpfs.
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "require(process.env.TLS_CERT ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.PORT || 8080, path: '/healthz', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
